"""Templates: values by path only (T125, S12)."""

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plait.model.errors import InvalidTemplate
from plait.model.rendering import rendered
from plait.model.templates import SIZE, render, render_text

SCOPE: dict[str, Any] = {
    "event": {
        "id": 7,
        "a": {"b": [1, {"c": None}]},
        "text": "{{event.id}}",
        "n": 1.5,
        "yes": True,
        "__class__": "data",
    },
    "tenant": {"slug": "acme"},
}


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("{{event.id}}", 7),
        ("{{ event.id }}", 7),
        ("{{event.a}}", {"b": [1, {"c": None}]}),
        ("{{event.a.b.0}}", 1),
        ("{{event.a.b.1.c}}", None),
        ("{{event.yes}}", True),
        ("no {{event.id}} of {{tenant.slug}}: {{event.n}} {{event.yes}} {{event.a.b}}", 'no 7 of acme: 1.5 true [1,{"c":null}]'),
        ({"k": ["{{event.id}}", {"x": "{{tenant.slug}}"}], "{{event.id}}": 1}, {"k": [7, {"x": "acme"}], "{{event.id}}": 1}),
        (5, 5),
        (None, None),
    ],
)  # fmt: skip
def test_a_token_is_replaced_by_what_is_there(template: Any, value: Any) -> None:
    assert render(template, SCOPE) == value


@pytest.mark.parametrize(
    "text",
    [
        "{{7*7}}",
        "{{event}}",
        "{{ event.id | upper }}",
        "{{event['id']}}",
        "{{event.id()}}",
        "{{config.items()}}",
        "{{''.__class__.__mro__}}",
        "{% for x in y %}{% endfor %}",
        "${event.id}",
        "{event.id}",
        "{{{event}}}",
        "{{self.id}}",
        "{{event.}}",
        "{{event..id}}",
        "{{event.id",
        "#{event.id}",
        "<%= event.id %>",
    ],
)
def test_what_is_no_path_stays_as_it_is_written(text: str) -> None:
    """S12."""
    assert render(text, SCOPE) == text


def test_what_was_put_in_is_not_looked_at_again() -> None:
    assert render("{{event.text}}", SCOPE) == "{{event.id}}"
    assert render("a {{event.text}} b", SCOPE) == "a {{event.id}} b"


@pytest.mark.parametrize(
    "path", ["event.id.__class__", "event.__init__", "event.a.b.9", "event.a.b.-1", "event.text.0", "event.missing", "trigger.id"]
)  # fmt: skip
def test_a_path_that_leads_nowhere_is_an_error(path: str) -> None:
    with pytest.raises(InvalidTemplate, match="there is no"):
        render(f"{{{{{path}}}}}", SCOPE)


def test_a_key_of_the_data_is_data_whatever_its_name() -> None:
    assert render("{{event.__class__}}", SCOPE) == "data"


def test_a_template_is_bounded() -> None:
    deep: Any = "x"
    for _ in range(60):
        deep = [deep]
    with pytest.raises(InvalidTemplate, match="levels"):
        render(deep, SCOPE)
    with pytest.raises(InvalidTemplate, match="at most"):
        render(["{{event.big}}"] * 50, {"event": {"big": "x" * 100_000}})


def test_text_that_is_too_long_is_refused_before_it_is_built() -> None:
    """A template of 22 kB would give 200 MB."""
    scope = {"event": {"big": "x" * 100_000}}
    tracemalloc.start()
    try:
        with pytest.raises(InvalidTemplate, match="at most 1,000,000 characters"):
            render("{{event.big}} " * 2_000, scope)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 3 * SIZE


def test_a_template_has_a_bounded_number_of_tokens() -> None:
    assert render("{{event.x}}" * 10_000, {"event": {"x": ""}}) == ""
    with pytest.raises(InvalidTemplate, match="at most 10,000 tokens"):
        render(["{{event.x}}"] * (10_000 + 1), {"event": {"x": None}})


def test_a_template_that_cannot_be_rendered_for_any_reason_is_refused_with_it() -> None:
    """An exception would end the leader's whole batch, again and again."""

    class Unlucky(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            raise MemoryError

    said = rendered('{"a": "{{event.x}}"}', {"event": Unlucky(x=1)}, None)
    assert said == {"payload": {}, "error": "the template cannot be rendered: MemoryError"}


@pytest.mark.parametrize("text", ["{{event.empty}}", "x" * 501, "{{event.nul}}"])
def test_a_key_is_text_of_1_to_500_characters(text: str) -> None:
    with pytest.raises(InvalidTemplate):
        render_text(text, {"event": {"empty": "", "nul": "a\0b"}}, what="dedupe_key")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda v: st.lists(v) | st.dictionaries(st.text(), v),
        max_leaves=20,
    )
)
def test_any_event_is_taken_as_it_is(data: Any) -> None:
    assert render({"x": "{{event.data}}"}, {"event": {"data": data}}) == {"x": data}
    text = render("<{{event.data}}>", {"event": {"data": data}})
    assert text == f"<{data}>" if isinstance(data, str) else json.loads(text[1:-1]) == data
