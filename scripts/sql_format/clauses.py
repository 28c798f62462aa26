"""Split a statement into clauses, and decide which clauses begin a line."""

from collections.abc import Iterator
from typing import NamedTuple

from .tokens import Group, Part, is_comment, is_comment_line, skip_comments, text_of, word_at

VERBS = {"select", "insert", "update", "delete", "with", "perform"}
JOINS = {"left", "right", "full", "inner", "cross", "natural", "outer"}
UNIONS = {"union", "intersect", "except"}
HARD = {"select", "from", "where", "values", "returning", "join", "group", "having", "order"} | UNIONS
"""Keywords that always begin a line in a broken statement."""
SOFT = {"into", "limit", "offset", "for", "set", "using", "do", "returns", "language", "to"}
"""Keywords that begin a line if they do not fit on the line of the previous clause."""


class Clause(NamedTuple):
    parts: list[Part]
    hard: bool


def clauses(parts: list[Part]) -> Iterator[Clause]:
    """Yield the clauses of a statement. For `with … select …` and `select … union select …`, yield its queries."""
    current: list[Part] = []
    hard = False
    united = any(word_at(parts, n) in UNIONS for n in range(len(parts)))
    for n, part in enumerate(parts):
        if is_comment(part) and not is_comment_line(part):
            current.append(part)
            continue
        at = skip_comments(parts, n)
        starts, strict = _starts(parts, at)
        if word_at(parts, 0) == "with":
            starts = starts and _is_query_after_group(parts, at)
        elif united:
            starts = starts and (
                word_at(parts, at) in UNIONS
                or word_at(parts, at - 1) in (*UNIONS, "all")
                or (word_at(parts, 0) == "insert" and _is_query_after_group(parts, at))
            )
        if starts and current and not is_comment(current[-1]):
            yield Clause(current, hard)
            current, hard = [], strict or is_comment(part)
        current.append(part)
    yield Clause(current, hard)


def _is_query_after_group(parts: list[Part], at: int) -> bool:
    return word_at(parts, at) in VERBS and isinstance(_before(parts, at), Group)


def _before(parts: list[Part], n: int) -> Part | None:
    return next((part for part in reversed(parts[:n]) if not is_comment(part)), None)


def _starts(parts: list[Part], n: int) -> tuple[bool, bool]:
    """Whether a clause starts here, and whether it always begins a line."""
    first, word, after = word_at(parts, 0), word_at(parts, n), word_at(parts, n + 1)
    previous = _before(parts, n)
    before = text_of([previous]) if previous else ""
    if not word or n == 0:
        return False, False
    if word in JOINS:
        return word_at(parts, n + 1 + (after == "outer")) == "join" and before not in JOINS, True
    match word:
        case "join":
            return before not in JOINS, True
        case "on":
            return after == "conflict" or "join" in (first, word_at(parts, 1), word_at(parts, 2)), after == "conflict"
        case "insert" | "update" | "delete":
            return isinstance(previous, Group), True
        case "select":
            return first not in ("grant", "revoke") and before != "for", True
        case "from":
            names = before in ("distinct", "delete", "select", "perform")  # `is distinct from`, or an empty select list
            return not names and first in (*VERBS, "from", "revoke"), first != "revoke"
        case "for":
            return after in ("update", "no", "share", "key", "select"), False
        case "into":
            return before != "insert", False
        case "to":
            return first in ("grant", "revoke", "create"), False
        case "set":
            return first in ("update", "insert", "create", "with", "on"), False
        case "do":
            return after in ("update", "nothing"), False
        case "group" | "order":
            return after == "by", first in VERBS
        case "return":
            return first == "create", True
        case "with":
            return first == "create" and "index" in (word_at(parts, 1), word_at(parts, 2)), False
        case _:
            return word in HARD | SOFT, word in HARD and first in VERBS
