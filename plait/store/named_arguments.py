"""Call SQL functions with named arguments, so that a new parameter does not shift the others."""

from collections.abc import Iterable


def named(parameters: Iterable[str]) -> str:
    """`p_a => $1, p_b => $2::json`: the arguments of a call, numbered in this order. A parameter may have a cast: `p_b::json`."""
    parts = (parameter.partition("::") for parameter in parameters)
    return ", ".join(f"{name} => ${number}{colons}{cast}" for number, (name, colons, cast) in enumerate(parts, 1))
