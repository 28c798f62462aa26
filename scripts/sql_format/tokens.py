"""SQL as a tree of tokens: parentheses and `case … end` are groups. Function bodies are read like other SQL."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

WIDTH = 100
BESIDE = 20
"""A comment on its own line that begins to the right of this column continues the comment at the end of the previous line."""
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<comment>--[^\n]*)
    |(?P<directive>\#variable_conflict[^\n]*)
    |(?P<string>[eE]'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*'|\$(?P<tag>\w+)\$.*?\$(?P=tag)\$)
    |(?P<dollar>\$\$)
    |(?P<word>(?:[^\W\d][\w$]*|"[^"]*")(?:\.(?:[^\W\d][\w$]*|"[^"]*"|\*))*)
    |(?P<number>\d+(?:\.(?!\.)\d*)?(?:e[+-]?\d+)?)
    |(?P<punct>[()\[\],;])
    |(?P<operator>::|:=|=>|\.\.|[-+*/<>=~!@\#%^&|?]+|[.:])""",
    re.VERBOSE | re.DOTALL,
)
_ENDS = {"(": ")", "[": "]", "case": "end"}


class Token(NamedTuple):
    kind: str
    text: str
    line: int
    col: int
    gap: str
    """The blanks before the token on its line."""
    newline: bool
    """Whether the token is the first on its line."""
    blank: bool
    """Whether there is a blank line before the token."""
    beside: bool
    """Whether the token continues a comment at the end of the previous line."""


@dataclass(frozen=True, eq=False)
class Group:
    head: Token
    inside: "list[Part]"
    close: Token


Part = Token | Group


def tokenize(text: str) -> list[Token]:
    tokens: list[Token] = []
    at = line = start = 0
    newline, blank, gap = True, False, ""
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"line {line + 1}: cannot read {text[at : at + 20]!r}")
        kind, token = match.lastgroup or "", match[0]
        at = match.end()
        if kind == "space":
            newline = newline or "\n" in token
            blank = token.count("\n") > 1
            gap = token.rpartition("\n")[2]
        else:
            col = match.start() - start
            beside = kind == "comment" and newline and col > BESIDE and bool(tokens) and _ends_in_comment(tokens[-1])
            tokens.append(Token(kind, token, line, col, gap, newline, blank, beside))
            newline, blank, gap = False, False, ""
        if "\n" in token:
            line += token.count("\n")
            start = match.start() + token.rindex("\n") + 1
    return tokens


def _ends_in_comment(before: Token) -> bool:
    return before.kind == "comment" and (before.beside or not before.newline)


def read_tree(tokens: list[Token]) -> list[Part]:
    return _read(iter(tokens), None)[0]


def _read(tokens: Iterator[Token], close: str | None) -> tuple[list[Part], Token | None]:
    parts: list[Part] = []
    for token in tokens:
        if token.text == close:
            return parts, token
        ends = _ENDS.get(token.text)
        if ends is None or _is_case_statement(token, parts, close):
            parts.append(token)
            continue
        inside, last = _read(tokens, ends)
        if last is None:
            parts += [token, *inside]
        else:
            parts.append(Group(token, inside, last))
    return parts, None


def _is_case_statement(token: Token, before: list[Part], close: str | None) -> bool:
    """Whether this is PL/pgSQL's `case`, which begins a statement, or the `case` of `end case`."""
    return token.text == "case" and ((not before and close is None) or text_of(before[-1:]) == "end")


def tokens_of(parts: list[Part]) -> Iterator[Token]:
    for part in parts:
        if isinstance(part, Token):
            yield part
        else:
            yield part.head
            yield from tokens_of(part.inside)
            yield part.close


def first_of(parts: list[Part]) -> Token:
    return next(tokens_of(parts))


def text_of(parts: list[Part]) -> str:
    """The first token's text; empty for a group."""
    return parts[0].text if parts and isinstance(parts[0], Token) else ""


def word_at(parts: list[Part], at: int) -> str:
    part = parts[at] if 0 <= at < len(parts) else None
    return part.text if isinstance(part, Token) and part.kind == "word" else ""


def is_comment(part: Part) -> bool:
    return isinstance(part, Token) and part.kind == "comment"


def is_comment_line(part: Part) -> bool:
    """Whether the part is a comment on its own line."""
    return isinstance(part, Token) and part.kind == "comment" and part.newline and not part.beside


def skip_comments(parts: list[Part], n: int) -> int:
    while n < len(parts) - 1 and is_comment(parts[n]):
        n += 1
    return n


def blanks_between(before: Part, after: Part) -> str:
    """The blanks between two parts that are on one line."""
    left = before.close if isinstance(before, Group) else before
    right = first_of([after])
    if not right.newline:
        return right.gap
    return "" if left.text in ("(", "[") or right.text in (")", "]", ",", ";") else " "


def on_one_line(parts: list[Part]) -> str | None:
    """The parts on one line; None if they need several lines."""
    out = ""
    before: Token | None = None
    for token in tokens_of(parts):
        if token.kind == "comment" or (before and before.kind == token.kind == "string"):
            return None  # a string constant in two parts requires the line break between them
        out += (blanks_between(before, token) if before else "") + token.text
        before = token
    return out


def split(parts: list[Part], joint: Callable[[str, str], bool]) -> list[list[Part]]:
    """Split parts where `joint` returns true. `joint` is called with the texts before and after each position.

    A comment at the end of a line stays with the part before it, a comment on its own line with the part after it.
    """
    items: list[list[Part]] = [[]]
    waiting: list[Part] = []
    before = ""
    for part in parts:
        if is_comment(part):
            (waiting if is_comment_line(part) else items[-1]).append(part)
            continue
        if joint(before, text_of([part])) and not all(map(is_comment, items[-1])):
            items.append([])
        items[-1] += [*waiting, part]
        waiting = []
        before = text_of([part])
    items[-1] += waiting
    return items


def split_at_commas(parts: list[Part]) -> list[list[Part]]:
    return split(parts, lambda before, _: before == ",")


def split_before(parts: list[Part], *words: str) -> list[list[Part]]:
    return split(parts, lambda _, after: after in words)


def split_operands(parts: list[Part], operator: str) -> list[list[Part]]:
    """The operands of `or`, `and` or `||`. The `and` of `between` is not an operator."""
    between = False

    def joint(_: str, after: str) -> bool:
        nonlocal between
        if after == "and" and between:
            between = False
            return False
        between = between or after == "between"
        return after == operator

    return split(parts, joint)
