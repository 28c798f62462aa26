"""The formatter of SQL: what it breaks and wraps, and that it changes nothing else."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from .source_files import ROOT, name_of, sources


def _load() -> ModuleType:
    folder = ROOT / "scripts" / "sql_format"
    spec = importlib.util.spec_from_file_location(
        "sql_format", folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["sql_format"] = module
    spec.loader.exec_module(module)
    return module


sql_format = _load()
format_sql = sql_format.format_sql
faults = sql_format.faults
SQL = [path for path in sources("plait/sql", ".sql") if path.parent.name != "migrations"]


def body(statements: str) -> str:
    return f"create or replace function plait.f() returns void language plpgsql as $$\nbegin\n{statements}end $$;\n"


def test_a_statement_that_fits_stays_as_it_is() -> None:
    for text in (
        body("  select   a,b\n     from t where x\n   and y;\n"),
        "create table t (\n  id    uuid,  -- the key\n\n  other int\n);\n",
    ):
        assert format_sql(text) == text


def test_a_long_query_is_broken_at_its_clauses() -> None:
    assert format_sql(
        body(
            "  select count(*) into v_n from plait.live l join plait.jobs j on j.id = l.job_id"
            " where l.state = 'running' and l.queue = p_queue and l.lane = '' order by l.run_at limit 1;\n"
        )
    ) == body(
        "  select count(*) into v_n\n"
        "  from plait.live l\n"
        "  join plait.jobs j on j.id = l.job_id\n"
        "  where l.state = 'running' and l.queue = p_queue and l.lane = ''\n"
        "  order by l.run_at limit 1;\n"
    )


def test_the_arguments_of_a_long_call_fill_the_next_lines() -> None:
    assert format_sql(
        body(
            "  v_payloads := plait._check_jobs(v_now, p_ids, p_tenants, p_definitions, p_payloads, p_queues,"
            " p_priorities, p_max_attempts, p_source);\n"
        )
    ) == body(
        "  v_payloads := plait._check_jobs(\n"
        "    v_now, p_ids, p_tenants, p_definitions, p_payloads, p_queues, p_priorities, p_max_attempts,\n"
        "    p_source);\n"
    )


def test_a_long_condition_is_broken_at_its_weakest_operator_and_never_within_between() -> None:
    assert format_sql(
        body(
            "  if p_first_number between 1 and 100 and p_second_number between 1 and 100"
            " or p_third_number between 1 and 100 then\n    return;\n  end if;\n"
        )
    ) == body(
        "  if p_first_number between 1 and 100 and p_second_number between 1 and 100\n"
        "     or p_third_number between 1 and 100 then\n    return;\n  end if;\n"
    )


def test_a_long_case_has_a_line_for_each_branch() -> None:
    assert format_sql(
        "select case when l.cancel_requested is not null then 'canceled' when x.outcome = 'failed' then 'failed'"
        " else 'succeeded' end from l;\n"
    ) == (
        "select case when l.cancel_requested is not null then 'canceled'\n"
        "            when x.outcome = 'failed' then 'failed'\n"
        "            else 'succeeded' end\n"
        "from l;\n"
    )


def test_a_long_signature_is_indented_between_its_parentheses() -> None:
    assert format_sql(
        "create or replace function plait.f(p_worker int, p_job uuid, p_attempt int, p_branches text[], p_name text)"
        " returns void\nlanguage sql as $$\n  select 1 $$;\n"
    ) == (
        "create or replace function plait.f(\n"
        "  p_worker int, p_job uuid, p_attempt int, p_branches text[], p_name text\n"
        ") returns void\n"
        "language sql as $$\n  select 1 $$;\n"
    )


def test_line_breaks_of_the_author_stay_where_they_can() -> None:
    columns = ", ".join(f"column_{n}" for n in range(10))
    assert format_sql(f"select a,\n       b,\n       {columns}\nfrom t\nwhere x\n  and y;\n") == (
        "select a,\n       b,\n"
        "       column_0, column_1, column_2, column_3, column_4, column_5, column_6, column_7, column_8,\n"
        "       column_9\n"
        "from t\nwhere x\n  and y;\n"
    )


def test_a_long_comment_is_wrapped_within_its_paragraph_and_under_its_label() -> None:
    assert format_sql(
        "-- f: a function.\n--\n"
        "--   locks    the live row of each job in the order of their ids, then their fan-outs, the deepest of them first\n"
        "-- This sentence is much too long for the line on which it stands, so that some of its words have to move on\n"
        "-- to the next line.\n"
        "-- Another paragraph.\n"
    ) == (
        "-- f: a function.\n--\n"
        "--   locks    the live row of each job in the order of their ids, then their fan-outs, the deepest\n"
        "--            of them first\n"
        "-- This sentence is much too long for the line on which it stands, so that some of its words have to\n"
        "-- move on to the next line.\n"
        "-- Another paragraph.\n"
    )


def test_the_summary_of_a_function_is_one_line() -> None:
    summary = "-- f: " + "words " * 20 + "end.\n"
    assert format_sql(summary) == summary
    assert faults(summary) == [f"line 1: {len(summary) - 1} columns: shorten the summary"]


def test_an_example_in_a_comment_is_left_to_a_person() -> None:
    example = f"--   select plait.f({', '.join(f'argument_{n}' for n in range(10))});\n"
    assert format_sql(example) == example
    assert faults(example) == [f"line 1: {len(example) - 1} columns: break it by hand"]


def test_a_comment_at_the_end_of_a_long_line_moves_above_it() -> None:
    why = "because the caller holds the lock already, and nobody else can have changed the row"
    assert format_sql(body(f"  return v_result;  -- {why}\n")) == body(f"  -- {why}\n  return v_result;\n")


def test_an_aligned_comment_is_wrapped_in_its_column() -> None:
    blanks = " " * 30
    assert format_sql(
        f"create table t (\n  state text,{blanks}-- the state of the row, as its worker has seen it before it ended\n  id int\n);\n"
    ) == (
        f"create table t (\n  state text,{blanks}-- the state of the row, as its\n"
        f"             {blanks}-- worker has seen it before it ended\n  id int\n);\n"
    )


def test_strings_and_names_are_never_touched() -> None:
    long = "x" * 90
    for text in (
        body(f"  raise exception 'a -- b,   c from {long}'\n    using errcode = 'PL001';\n"),
        f"select $re$ from  where '{long}$re$;\n",
        f'select "From  Where {long}";\n',
        "select 'one part of a string that is continued, and "
        + "that is rather long already, '\n       'on the next line';\n",
    ):
        assert format_sql(text) == text
        assert faults(text) == [] or "Where" in text


@pytest.mark.parametrize("path", SQL, ids=name_of)
def test_every_file_is_formatted(path: Path) -> None:
    text = path.read_text()
    assert format_sql(text) == text, "run: make format"
    assert faults(text) == []


@pytest.mark.parametrize("path", SQL, ids=name_of)
def test_formatting_is_stable_even_if_every_statement_is_one_line(path: Path) -> None:
    formatted = format_sql(_on_one_line_each(path.read_text()))
    assert format_sql(formatted) == formatted


def _on_one_line_each(text: str) -> str:
    """Each statement on one line, without comments."""
    out, before = "", None
    for token in sql_format.tokenize(text):
        if token.kind == "comment":
            continue
        if before is not None:
            strings = before.kind == token.kind == "string"
            apart = strings or before.text == ";" or "directive" in (before.kind, token.kind) or before.kind == "dollar"
            out += "\n" if apart else " " if token.newline else token.gap
        out += token.text
        before = token
    return out + "\n"


def test_a_change_of_anything_but_layout_is_refused() -> None:
    same = sql_format.require_same_meaning
    same("select 1;  -- one", "-- one\nselect\n  1;")
    for before, after in (
        ("select 1;", "select 2;"),
        ("select 1;  -- one", "select 1;"),
        ("select 'a  b';", "select 'a b';"),
    ):
        with pytest.raises(ValueError, match="more than the layout"):
            same(before, after)


def test_tabs_upper_case_and_long_lines_are_faults() -> None:
    assert faults("select 1;\n\tselect 2;\n") == ["line 2: a tab"]
    assert faults("SELECT 'A', \"B\" from t;  -- C\n") == ["line 1: SELECT: write it in lower case"]
    assert faults(f"select {'x' * 100};\n") == ["line 1: 108 columns: break it by hand"]
    assert faults(f"select '{'x' * 100}';\n") == []


def test_blanks_at_the_end_of_a_line_are_removed() -> None:
    assert format_sql("select 1;  \n\n") == "select 1;\n\n"
