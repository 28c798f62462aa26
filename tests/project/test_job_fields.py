"""A job's fields are listed once in each layer; what is not built from these lists is compared with them."""

import re
from typing import get_type_hints

import pytest

from plait.sdk.options import Options, OptionsDict
from plait.store.new_jobs import ARRAYS, NewJob
from plait.store.nurseries import SPAWN_FIELDS
from plait.store.workflows import CHILD_FIELDS

from .source_files import ROOT, sources

FUNCTIONS = {path.stem: path.read_text() for path in sources("plait/sql/functions", ".sql")}
SET_LATER = {"source_ref", "runs"}
"""Columns that are null in a new row: `_fire` and `_announce` set the first, `continue_as_new` the second."""


def test_one_function_inserts_jobs_besides_the_two_hot_paths() -> None:
    makers = {name for name, text in FUNCTIONS.items() if re.search(r"insert into plait\.jobs\b", text)}
    assert makers == {"_insert_jobs", "_enqueue_plain", "enqueue_one"}


def test_it_inserts_every_column() -> None:
    schema = (ROOT / "plait/sql/schema/30_jobs.sql").read_text()
    table = schema.partition("create table plait.jobs (")[2].partition("\n);")[0]
    columns = set(re.findall(r"^  (\w+) ", re.sub(r"--.*", "", table), re.MULTILINE))
    [inserted] = re.findall(r"insert into plait\.jobs \((.*?)\)", FUNCTIONS["_insert_jobs"], re.DOTALL)
    assert {*re.findall(r"\w+", inserted)} == columns - SET_LATER


def test_each_field_of_a_new_job_is_an_argument() -> None:
    assert [*ARRAYS] == [name for name in NewJob.__struct_fields__ if name != "defaults"]


@pytest.mark.parametrize(
    ("function", "fields"),
    [
        ("enqueue_many", [*ARRAYS]),
        ("open_fan_out", CHILD_FIELDS),
        ("spawn_many", SPAWN_FIELDS),
        ("after_many", SPAWN_FIELDS),
    ],
)
def test_an_argument_has_the_name_and_type_of_its_field(function: str, fields: list[str]) -> None:
    declared = re.sub(r"\s+", " ", FUNCTIONS[function].partition(f"plait.{function}(")[2])
    for field in fields:
        name, _, kind = ARRAYS[field].partition("::")
        assert re.search(rf"\b{name} {re.escape(kind)}[ ,]", declared), name


def test_type_checkers_see_the_same_options() -> None:
    assert get_type_hints(OptionsDict) == get_type_hints(Options)
