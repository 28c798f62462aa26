"""Readers find the terms that they search for: each on the page about it, and every code that a test cites in one list."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

PAGES = {
    "retry": "how-to/retries-and-outcomes.md",
    "exponential backoff": "how-to/retries-and-outcomes.md",
    "dead letter": "how-to/retries-and-outcomes.md",
    "by default": "how-to/limits-and-queues.md",
    "rate limit": "how-to/limits-and-queues.md",
    "concurrency limit": "how-to/limits-and-queues.md",
    "priority": "how-to/limits-and-queues.md",
    "idempotency": "how-to/transactions.md",
    "cron": "how-to/schedules.md",
    "time zone": "how-to/schedules.md",
    "leader election": "how-to/deploying-workers.md",
    "graceful shutdown": "how-to/deploying-workers.md",
    "heartbeat": "how-to/deploying-workers.md",
    "lease": "how-to/deploying-workers.md",
    "dag": "how-to/structured-concurrency.md",
    "workflow": "how-to/durable-functions.md",
    "webhook": "how-to/webhooks.md",
    "circuit breaker": "how-to/connectors.md",
    "multi-tenant": "how-to/production.md",
    "row-level security": "../SECURITY.md",
}

OTHERS = {"F401", "F821", "S256"}
"""Rules of ruff, and a method of PKCE."""

PYTHON = {"advance", "assert_enqueued", "call", "close", "list", "replay", "run_until_idle"}
"""Methods of Python objects that are called plait."""


@pytest.mark.parametrize("term", PAGES)
def test_a_term_is_on_the_page_about_it(term: str) -> None:
    assert term in (ROOT / "docs" / PAGES[term]).read_text().lower()


def test_every_failure_mode_that_a_test_cites_is_listed() -> None:
    page = (ROOT / "docs" / "explanation" / "failure-modes.md").read_text()
    listed = {code for row in re.findall(r"^\| ([A-Z0-9, ]+) \|", page, re.MULTILINE) for code in row.split(", ")}
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    cited = set(re.findall(r"\b[TFSI][1-9]\d{0,2}\b", tests)) - OTHERS
    assert len(cited) > 100
    assert cited <= listed


def test_the_sql_functions_that_pages_name_exist() -> None:
    functions = {path.stem for path in (ROOT / "plait" / "sql" / "functions").rglob("*.sql")}
    pages = "".join(path.read_text() for path in (ROOT / "docs").rglob("*.md"))
    assert set(re.findall(r"\bplait\.([a-z_]+)\(", pages)) - functions - PYTHON == set()
