"""The `called` line of an SQL function's header names its callers, as the sources have them."""

import importlib.util
from types import ModuleType

from .source_files import ROOT


def _sql_callers() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sql_callers", ROOT / "scripts" / "sql_callers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


sql_callers = _sql_callers()
callers = sql_callers.callers
with_line = sql_callers.with_line

HEAD = "-- {}: what it does.\n--\n--   raises   nothing\n--   called   {}\n--\n-- A note.\n"
BODY = "create or replace function plait.{}() returns void language sql as $$ select {} $$;\n"


def function(name: str, calls: str = "1", called: str = "nothing") -> str:
    return HEAD.format(name, called) + BODY.format(name, calls)


def test_every_called_line_is_right() -> None:
    wrong = [path.name for path, text in sql_callers.written().items() if path.read_text() != text]
    assert wrong == [], "run: python scripts/sql_callers.py"


def test_sql_functions_that_call_it_are_named() -> None:
    files = [function("a", "plait._c()"), function("b", "plait._c() -- plait.a()"), function("_c", "plait._c()")]
    called = callers(files)
    assert {name: str(called[name]) for name in ("a", "b", "_c")} == {"a": "nothing", "b": "nothing", "_c": "a, b"}


def test_a_private_function_in_its_callers_file_is_a_caller_of_its_own() -> None:
    called = callers([function("a", "plait._b()") + BODY.format("_b", "plait._c()"), function("_c")])
    assert (str(called["_b"]), str(called["_c"])) == ("a", "_b")


def test_python_functions_that_call_it_are_named_also_by_way_of_a_constant() -> None:
    jobs = '''
"""Calls plait.b() in its docstring only."""
A = "select plait.a()"
BOTH = f"{A}, plait.b()"

class Jobs:
    async def first(self):
        """Calls plait.b()."""
        return await self.fetch(A)

    def second(self):
        def inner():
            return "select plait.c()"
        return inner
'''
    other = "from plait.store.jobs import BOTH\n\ndef third():\n    return BOTH\n"
    called = callers(
        [function("a"), function("b"), function("c")], python={"plait.store.jobs": jobs, "plait.sdk.job": other}
    )
    assert {name: str(called[name]) for name in "abc"} == {
        "a": "plait.sdk.job.third, plait.store.jobs.first",
        "b": "plait.sdk.job.third",
        "c": "plait.store.jobs.second",
    }


def test_the_schema_and_users_are_callers() -> None:
    granted = "grant execute on function plait.b, plait.c to plait_client;\ngrant execute on function plait.a to plait_worker;"
    example = function("c").replace("-- A note.", "--   select plait.c();")
    called = callers([function("a"), function("b"), example], schema="check (plait.a())", grants=granted)
    assert [str(called[name]) for name in "abc"] == ["the schema", "users", "users"]


def test_a_function_that_is_called_everywhere_has_no_list() -> None:
    called = callers([function("now"), *(function(f"f{n}", "plait.now()") for n in range(13))])
    assert str(called["now"]) == "by more than a dozen functions"


def test_the_line_is_written_anew_and_the_rest_stays() -> None:
    files = [function(f"caller_with_a_long_name_{n}", "plait.a()") for n in range(6)]
    text = function("a", called="from memory,\n--            and wrong")
    made = with_line(text, callers([*files, text])["a"])
    assert "memory" not in made
    assert "wrong" not in made
    assert max(len(line) for line in made.splitlines()[:5]) <= 100
    assert made.splitlines()[3] == "--   called   " + ", ".join(f"caller_with_a_long_name_{n}" for n in range(3)) + ","
    assert made.endswith("--\n-- A note.\n" + BODY.format("a", "1"))


def test_a_private_function_need_not_say_who_calls_it() -> None:
    text = "-- _a: what it does.\n" + BODY.format("_a", "1")
    assert with_line(text, callers([text])["_a"]) == text
