"""The vocabulary lint: it finds retired phrases and sentence forms, only in prose."""

import importlib.util
import sys
from types import ModuleType

import pytest

from .source_files import ROOT


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("vocabulary", ROOT / "scripts" / "vocabulary.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["vocabulary"] = module
    spec.loader.exec_module(module)
    return module


lint = _load()
vocabulary = lint.Vocabulary({"falls silent": "is lost"}, ["What it does not defend"])


def faults(source: str, suffix: str) -> list[tuple[int, str]]:
    return [fault for text in lint.texts(source, suffix) for fault in vocabulary.faults(text)]


@pytest.mark.parametrize(
    ("suffix", "source", "line"),
    [
        (".py", '"""A worker that falls silent."""\n', 1),
        (".py", "x = 1  # falls silent\n", 1),
        (".py", "x = 1\n# it falls\n# silent\n", 2),
        (".py", 'raise ValueError(f"worker {name} falls silent")\n', 1),
        (".sql", "select 1;\n-- a worker that falls silent\n", 2),
        (".md", "# Workers\n\nA worker\nfalls silent.\n", 4),
        (".tsx", "<p>A worker falls silent</p>\n", 1),
        (".ts", "// A worker falls silent\n", 1),
    ],
)
def test_a_retired_phrase_is_found(suffix: str, source: str, line: int) -> None:
    [(found, fault)] = faults(source, suffix)
    assert found == line
    assert fault.endswith("write is lost")


@pytest.mark.parametrize(
    ("suffix", "source"),
    [
        (".py", '"""What waits is queued."""\n'),
        (".py", '"""Claim jobs. Whoever loses waits."""\n'),
        (".py", "x = 1  # what is left over\n"),
        (".py", 'raise ValueError("what waits has no worker")\n'),
        (".sql", "-- claim: take jobs.\n-- Who runs it is not asked.\n"),
        (".md", "## What one enqueue may say\n"),
        (".md", "| option | |\n|---|---|\n| `x` | Whatever it says. |\n"),
        (".md", "- What is left.\n"),
        (".tsx", "<h1>What makes jobs</h1>\n"),
    ],
)
def test_a_sentence_that_begins_with_a_free_relative_is_found(suffix: str, source: str) -> None:
    found = faults(source, suffix)
    assert len(found) == 1
    assert "begin with a noun" in found[0][1]


@pytest.mark.parametrize(
    ("suffix", "source"),
    [
        (".py", '"""What is a lease? A row that a worker renews."""\n'),
        (".py", '"""The worker decides what it runs, and who may see it."""\n'),
        (".py", 'falls_silent = "select 1"\n'),
        (".sql", "select what, who from falls;\n"),
        (".md", "```\nWhat waits\n```\n"),
        (".md", "Call `falls silent` for it.\n"),
        (".md", "## What is a workflow?\n"),
        (".md", "## What it does not defend\n"),
    ],
)
def test_questions_code_and_allowed_sentences_pass(suffix: str, source: str) -> None:
    assert faults(source, suffix) == []


def test_the_paths_of_the_list_exist_and_hold_no_fault() -> None:
    assert lint.main() == 0


def test_the_lint_reads_the_files_of_a_folder() -> None:
    read = set(lint._files(["scripts"]))
    assert ROOT / "scripts" / "vocabulary.py" in read
