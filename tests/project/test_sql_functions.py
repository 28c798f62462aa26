"""One public SQL function per file, which has its name and begins with its contract."""

import re
from pathlib import Path

import pytest

from .source_files import ROOT, name_of, sources
from .sql_functions import calls_by_place, faults

FOLDERS = sorted(path for path in (ROOT / "plait/sql/functions").iterdir() if path.is_dir())

CANCEL = "plait/sql/functions/operate/cancel.sql"
CONTRACT = """\
-- cancel: end a job that is not final.
--
--   moves    queued -> canceled
--   locks    the live row
--   raises   PL002 for a job that is final
--   called   plait.store.jobs.cancel
"""
BODY = "create or replace function plait.cancel(p_job uuid) returns void language sql as $$ select 1 $$;\n"
HELPER = "create or replace function plait._mark(p_job uuid) returns void language sql as $$ select 1 $$;\n"
RETRY = (CONTRACT + BODY).replace("cancel", "retry")


def test_every_function_is_where_its_name_says_and_begins_with_its_contract() -> None:
    # A migration is history: it repeats what the schema said when it was written.
    tree = [path for path in sources("plait/sql", ".sql") if path.parent.name != "migrations"]
    assert faults({name_of(path): path.read_text() for path in tree}) == []


def test_a_well_formed_file_has_no_fault() -> None:
    assert faults({CANCEL: CONTRACT + BODY}) == []
    assert faults({CANCEL: "-- long: many states\n" + CONTRACT + BODY}) == []


def test_a_contract_must_be_there_and_whole() -> None:
    assert faults({CANCEL: BODY})
    assert faults({CANCEL: "\n" + CONTRACT + BODY})
    assert faults({CANCEL: CONTRACT.replace("-- cancel:", "-- abort:") + BODY})
    for clause in ("moves", "locks", "raises", "called"):
        without = "".join(line for line in CONTRACT.splitlines(keepends=True) if clause not in line)
        assert faults({CANCEL: without + BODY}) == [f"{CANCEL} does not say what it {clause}"]


def test_a_public_function_lives_in_the_file_of_its_name() -> None:
    assert faults({CANCEL: CONTRACT + BODY + BODY.replace("cancel", "retry")})
    assert faults({CANCEL: CONTRACT})
    assert faults({"plait/sql/migrations/0002.sql": BODY})
    assert faults({"plait/sql/schema/jobs.sql": BODY})


def test_a_function_is_defined_once() -> None:
    assert faults({CANCEL: CONTRACT + BODY + BODY.replace("p_job uuid", "p_jobs uuid[]")})
    assert faults({CANCEL: CONTRACT + BODY, "plait/sql/migrations/0002.sql": BODY})
    assert faults({CANCEL: CONTRACT + BODY, "plait/sql/functions/old/cancel.sql": CONTRACT + BODY})


def test_a_function_lies_in_the_folder_of_its_subject() -> None:
    for place in ("plait/sql/functions/cancel.sql", "plait/sql/functions/operate/old/cancel.sql"):
        assert faults({place: CONTRACT + BODY}) == [f"{place} is not in a folder of plait/sql/functions"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_readme_of_a_folder_names_its_functions_and_no_others(folder: Path) -> None:
    table = [line for line in (folder / "README.md").read_text().splitlines() if line.startswith("| `")]
    named = {name for line in table for name in re.findall(r"`(\w+)`", line.split("|")[1])}
    assert named == {path.stem for path in folder.glob("*.sql")}


def test_the_readme_of_all_functions_names_every_folder() -> None:
    text = (ROOT / "plait/sql/functions/README.md").read_text()
    assert set(re.findall(r"\((\w+)/README\.md\)", text)) == {folder.name for folder in FOLDERS}


def test_a_definition_in_a_comment_is_none() -> None:
    assert faults({CANCEL: CONTRACT + BODY, "plait/sql/migrations/0002.sql": f"-- {BODY}/* {BODY} */"}) == []


def test_a_helper_lives_with_its_only_caller_or_in_a_file_of_its_own() -> None:
    calling = BODY.replace("select 1", "select plait._mark(p_job)")
    retry = {"plait/sql/functions/operate/retry.sql": RETRY.replace("select 1", "select plait._mark(p_job)")}
    own = {"plait/sql/functions/operate/_mark.sql": "-- _mark: note who asked.\n" + HELPER}

    assert faults({CANCEL: CONTRACT + calling + HELPER}) == []
    assert faults({CANCEL: CONTRACT + calling, **retry, **own}) == []
    assert faults({CANCEL: CONTRACT + calling + HELPER, **retry})
    assert faults({"plait/sql/functions/operate/_mark.sql": HELPER})


def test_a_function_that_makes_a_job_queued_reads_the_clock_after_it_has_an_id() -> None:
    """Scan bounds rely on it: a transaction has its id before it reads the clock (_now_after_xid, _advance_scan_bounds)."""
    queues = re.compile(
        r"insert into plait\.live|plait\._insert_jobs\(\n|(?<!nodes )set\s+state = ('queued'|v_state|case)"
    )
    given = {"_insert_jobs", "_enqueue_plain", "_settle", "_release_running"}  # their callers pass it
    others = {"rescue", "_open_nodes", "_requeue_leader_job"}  # into lanes that have no scan bounds
    makers = {path.stem: path.read_text() for path in sources("plait/sql/functions", ".sql")}
    makers = {name: text for name, text in makers.items() if queues.search(text) and name not in given | others}
    assert {
        "enqueue_many",
        "promote",
        "reschedule",
        "_retry",
        "_resume_job",
        "_spawn",
        "_enqueue_follow_ups",
    } <= makers.keys()
    assert [name for name, text in makers.items() if "plait._now_after_xid()" not in text] == []


def test_a_call_with_more_than_five_arguments_names_them() -> None:
    tree = [*sources("plait/sql/functions", ".sql"), *sources("plait", ".py"), *sources("bench", ".py")]
    assert calls_by_place({name_of(path): path.read_text() for path in tree}) == []


def test_a_call_that_does_not_name_its_many_arguments_is_found() -> None:
    nested = "(select min(1, 2))"
    named = [f"a{n} => 'x,'" for n in range(6)]
    for given, is_fault in (
        (["'x,'"] * 6, True),
        (["'x,'", *named[1:]], True),
        (named, False),
        ([*named[:5], f"a5 => {nested}"], False),
        (["'x,'"] * 4 + [nested], False),
    ):
        for text in (
            f"select plait.f({', '.join(given)});",
            f"create or replace function plait.f(a, b, c, d, e, f) {given}",
        ):
            faults_of = calls_by_place({"plait/sql/functions/operate/f.sql": text})
            assert bool(faults_of) is (is_fault and text.startswith("select")), given
