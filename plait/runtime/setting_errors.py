"""The message for settings that are not valid: the variable, the accepted values, and the given value."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from plait.model.texts import shown

_KINDS = {
    "float_parsing": "a number",
    "float_type": "a number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "string_type": "text",
    "finite_number": "a finite number",
}
_LIMITS = {
    "greater_than": ("more than", "gt"),
    "greater_than_equal": ("at least", "ge"),
    "less_than": ("less than", "lt"),
    "less_than_equal": ("at most", "le"),
}


def explain(error: ValidationError, given: Mapping[str, Any]) -> str:
    """One sentence for each setting. `given`: the settings that code has passed, which are named as in the code."""
    return "; ".join(dict.fromkeys(_explain(one, given) for one in error.errors()))


def _explain(one: ErrorDetails, given: Mapping[str, Any]) -> str:
    said = one["msg"].removeprefix("Value error, ")
    if not one["loc"]:
        return said  # a validator of several settings: its message names them
    first = str(one["loc"][0])
    name = first if first in given else f"PLAIT_{first.upper()}"
    context = one.get("ctx", {})
    if one["type"] in _KINDS:
        accepted = _KINDS[one["type"]]
    elif one["type"] in _LIMITS:
        words, limit = _LIMITS[one["type"]]
        accepted = f"{words} {context[limit]:g}"
    elif one["type"] == "literal_error":
        accepted = str(context["expected"])
    elif said.startswith("must be "):
        return f"{name} {said}"
    else:
        accepted = said.removeprefix("Input should be ")
    # The value of a secret is never shown.
    return f"{name} must be {accepted}" + ("" if "secret" in name.lower() else f", got {shown(one['input'])}")
