"""The layout of one statement that has a line over 100 columns.

A part of the statement that fits at its new position keeps its line breaks. Any other part is broken: first between clauses, then at commas,
`or`, `and` and `||`, then within its groups or at other operators, whichever needs fewer lines.
"""

import re

from .clauses import HARD, JOINS, SOFT, VERBS, Clause, clauses
from .tokens import (
    WIDTH,
    Group,
    Part,
    Token,
    blanks_between,
    first_of,
    is_comment,
    is_comment_line,
    on_one_line,
    read_tree,
    skip_comments,
    split_at_commas,
    split_before,
    split_operands,
    text_of,
    tokens_of,
    word_at,
)

Lines = list[str]
"""The first line without its indentation, the others with it."""
NEAR = 45
"""A subquery that would be aligned to the right of this column begins on the next line."""
FAR = 16
"""Arguments that would be aligned further to the right than this begin on the next line, even if that needs one more line."""
_HEAD = re.compile(
    r"(?:select(?: distinct)?|perform|from|where|having|on|and|or|when|into|returning|(?:order|group) by|using|to|set|values|else|return"
    r"|(?:grant|revoke) \w+ on(?: function)?)\b"
)
_ALIGNED = {"select", "perform", "values", "from", "and", "or", "else"}
"""Further lines of these clauses are aligned with the first part; further lines of other clauses are indented by 2."""
_IN_GROUP = 2
_OPERATORS = (
    (0, ("and",)),  # the `and` of `between`
    (1, ("+", "-")),
    (3, ("=", "<>", "<", ">", "<=", ">=", "~")),
    (4, ("*", "/")),
)
"""Operators to break at as a last resort, with their rank. A break within a group has rank 2."""
_PAIRS = {"json_build_object", "jsonb_build_object"}


def lay_out(tokens: list[Token]) -> list[str]:
    """Lay out a statement that begins on its own line."""
    col = tokens[0].col
    size = len(tokens)
    while tokens[size - 1].kind == "comment":
        size -= 1
    lines = _indented(_statement(read_tree(tokens[:size]), col), col)
    if size < len(tokens):
        at = len(lines[-1]) + 2
        lines[-1] += "  " + tokens[size].text
        lines += [" " * at + comment.text for comment in tokens[size + 1 :]]
    return lines


def _statement(parts: list[Part], col: int) -> Lines:
    words = [text_of([part]) for part in parts]
    first = words[0]
    if first == "for" and "in" in words and words[-1] == "loop":
        at = words.index("in") + 1
        if word_at(parts, skip_comments(parts, at)) in VERBS:
            return _loop(parts, at, col)
    if words[:2] == ["return", "query"]:
        return ["return query", *_indented(_render(parts[2:], col + 2, col + 2, col + 2), col + 2)]
    if first in ("exit", "continue") and "when" in words:
        return _after(parts, words.index("when") + 1, col, col + 2, col)
    if ":=" in words:
        at = words.index(":=") + 1
        same = _after(parts, at, col, col + 2, col)
        below = [on_one_line(parts[:at]) or "", *_indented(_render(parts[at:], col + 2, col + 2, col + 2), col + 2)]
        group = isinstance(parts[at], Group)
        return min((same, below), key=lambda lines: (_excess(lines, col), len(lines), group and lines is same))
    if first in ("if", "elsif", "while"):
        return _after(parts, 1, col, col + len(first) + 1, col + len(first) + 1)
    if first == "return":
        return _after(parts, 1, col, col + 2, col)
    return _render(parts, col, col + 2, col)


def _loop(parts: list[Part], at: int, col: int) -> Lines:
    """Lay out `for … in`, a query and `loop`."""
    head = _render(parts[1:at], col + 4, col + 4, col)
    if is_comment(parts[at]):
        head[-1] += "  " + text_of(parts[at:])
        at += 1
    body = _render(parts[at:-1], col + 2, col + 2, col + 2)
    return ["for " + head[0], *head[1:], *_indented(body, col + 2), " " * col + "loop"]


def _after(parts: list[Part], at: int, col: int, indent: int, base: int) -> Lines:
    """Put the first `at` parts on one line, followed by the other parts."""
    head = on_one_line(parts[:at]) or ""
    body = _render(parts[at:], col + len(head) + 1, indent, base)
    return [f"{head} {body[0]}", *body[1:]]


def _indented(lines: Lines, indent: int) -> Lines:
    return [" " * indent + lines[0], *lines[1:]]


def _render(parts: list[Part], col: int, indent: int, base: int, tail: int = 0) -> Lines:
    """Lay out parts that begin in column `col`, on a line that is indented by `base`.

    New lines are indented by `indent`, or from `base` within parentheses. On the last line `tail` columns must be free.
    """
    flat = on_one_line(parts)
    for lines in (_as_written(parts, col), None if flat is None else [flat]):
        if lines is not None and _excess(lines, col, tail) == 0:
            return lines
    if len(parts) > 1 and is_comment(parts[0]):
        return [text_of(parts), *_indented(_render(parts[1:], col, indent, col, tail), col)]
    if word_at(parts, 0) == "when" and any(text_of([part]) == "then" for part in parts):
        return _branch(parts, col, tail)
    if len(found := list(clauses(parts))) > 1:
        return _lay_clauses(found, col, indent, base, tail)
    head = _HEAD.match(" ".join(text_of(parts[n:]) for n in range(4)))
    if head and len(parts) > (size := len(head[0].split())):
        return _clause(head[0], parts[size:], col, base, tail)
    if word_at(parts, 0) in ("with", "create"):
        return _walk(parts, col, indent, base, tail)
    if len(items := split_at_commas(parts)) > 1:
        return _fill(items, col, indent, tail)
    for operator in ("or", "and", "||"):
        if len(items := split_operands(parts, operator)) > 1:
            return _fill(items, col, indent, tail)
    ways = [(_IN_GROUP, _walk(parts, col, indent, base, tail))]
    for rank, operators in _OPERATORS:
        if len(items := split_before(parts, *operators)) > 1:
            ways.append((rank, _fill(items, col, max(indent, col + 2), tail)))
    return min(ways, key=lambda way: (_excess(way[1], col, tail), len(way[1]), way[0]))[1]


def _clause(head: str, rest: list[Part], col: int, base: int, tail: int) -> Lines:
    """Lay out a clause: its first words, then its list or condition."""
    word = head.split()[0]
    if word == "set" or (word == "grant" and first_of(rest).newline):
        return [head, *_indented(_render(rest, base + 2, base + 2, base + 2, tail), base + 2)]
    indent = col + len(word) + 1 if word in _ALIGNED else col + 2
    body = _render(rest, col + len(head) + 1, indent, base, tail)
    return [f"{head} {body[0]}", *body[1:]]


def _lay_clauses(found: list[Clause], col: int, indent: int, base: int, tail: int) -> Lines:
    words = [word_at(found[0].parts, n) for n in range(4)]
    creates = words[0] == "create" and ("function" in words or "view" in words)
    start = col if creates or words[0] in VERBS | {"from", "where"} else indent
    out = _render(found[0].parts, col, indent, base)
    alone, moved = len(out) == 1, False
    for n, (clause, hard) in enumerate(found[1:], 1):
        last = tail if n == len(found) - 1 else 0
        word, flat = word_at(clause, 0), on_one_line(clause)
        free = WIDTH - last - len(out[-1]) - (col if len(out) == 1 else 0)
        fits = flat is not None and len(flat) < free
        follows = alone or out[-1].strip() == ")" or words[0] == "raise" or flat == "on true"
        joins = word == "set" and word_at(found[n - 1].parts, 0) in ("update", "do") and follows
        asked = hard or (first_of(clause).newline and not moved)
        if fits and follows and (joins or not asked):
            out[-1] += f" {flat}"
        elif joins or (word == "returns" and out[-1].strip() == ")"):
            at = len(out[-1]) + 1 if word == "returns" else WIDTH
            first, *others = _render(clause, at, at + 2, start if word == "returns" else base, last)
            out[-1] += " " + first
            out += others
            alone = word == "returns"
        else:
            moved = moved or not first_of(clause).newline
            lines = _render(clause, start, start + 2, start, last)
            out += _indented(lines, start)
            alone = len(lines) == 1
    return out


def _fill(items: list[list[Part]], col: int, indent: int, tail: int) -> Lines:
    """Put as many items on each line as fit. Existing line breaks are kept, unless the previous line was too long."""
    listed = len(items) > 2 and all(first_of(item).newline for item in items[1:])
    out = [""]
    alone = True
    moved = False
    for n, item in enumerate(items):
        last = tail if n == len(items) - 1 else 0
        here = len(out[-1]) + (col if len(out) == 1 else 0)
        first, flat = first_of(item), on_one_line(item)
        asked = first.newline and (listed or not moved)
        if n and alone and not asked and flat is not None and here + 1 + len(flat) + last <= WIDTH:
            out[-1] += " " + flat
            moved = moved and not first.newline
            continue
        if n:
            moved = not first.newline
            out += [""] * first.blank
            out.append(" " * indent)
            here = indent
        lines = _render(item, here, here + 2, here, last)
        out[-1] += lines[0]
        out += lines[1:]
        alone = len(lines) == 1
    return out


def _walk(parts: list[Part], col: int, indent: int, base: int, tail: int) -> Lines:
    """Lay out the parts in sequence. A group that does not fit is broken."""
    out = [""]
    string = col
    for n, part in enumerate(parts):
        here = len(out[-1]) + (col if len(out) == 1 else 0)
        if isinstance(part, Token) and part.kind == "comment":
            if is_comment_line(part) and out != [""]:
                out.append(" " * indent + part.text)
            else:
                out[-1] += ("  " if out[-1] else "") + part.text
            out.append(" " * indent)
            continue
        gap = blanks_between(parts[n - 1], part) if out[-1].strip() else ""
        if isinstance(part, Group):
            start = base if len(out) == 1 else len(out[-1]) - len(out[-1].lstrip())
            lines = _group_at(parts, n, here + len(gap), start, tail)
            out[-1] += gap + lines[0]
            out += lines[1:]
        elif part.kind == "string" and n and first_of(parts[n - 1 : n]).kind == "string":
            out.append(" " * string + part.text)
        elif _is_alias_with_columns(parts, n) and here + len(on_one_line(parts[n:]) or "") + tail >= WIDTH:
            out.append(" " * indent + part.text)
        else:
            string = here + len(gap)
            out[-1] += gap + part.text
    return out if out[-1].strip() else out[:-1]


def _is_alias_with_columns(parts: list[Part], n: int) -> bool:
    """Whether this is the `x` in `f(…) x(a, b)`."""
    after = parts[n + 1] if n + 1 < len(parts) else None
    follows = n > 0 and (isinstance(parts[n - 1], Group) or word_at(parts, n - 1) == "ordinality")
    return (
        follows
        and word_at(parts, n) != ""
        and isinstance(after, Group)
        and after.head.gap == ""
        and not after.head.newline
    )


def _group_at(parts: list[Part], n: int, col: int, base: int, tail: int) -> Lines:
    """Lay out a group: on one line if the group and the tokens after it fit."""
    group = parts[n]
    assert isinstance(group, Group)
    follows = 0
    for before, other in zip(parts[n:], parts[n + 1 :], strict=False):
        if isinstance(other, Group):
            break
        follows += len(blanks_between(before, other)) + len(other.text)
    else:
        follows += tail
    flat = on_one_line([group])
    if flat is not None and not group.close.newline and col + len(flat) + follows <= WIDTH:
        return [flat]
    signature = word_at(parts, 0) == "create" and word_at(parts, n - 2) == "function"
    return _group(group, col, base, follows, "as" if signature else word_at(parts, n - 1))


def _group(group: Group, col: int, base: int, tail: int, before: str) -> Lines:
    lines = _as_written([group], col)
    if lines is not None and (_excess(lines, col, tail) == 0 or not group.inside):
        return lines
    if group.head.text == "case":
        return _case(group, col, base, tail)
    head, close = group.head.text, group.close.text
    if group.close.newline or before in ("as", "materialized"):
        return [head, *_indented(_render(group.inside, base + 2, base + 2, base + 2), base + 2), " " * base + close]
    inside = _pairs if before in _PAIRS else _render
    aligned = inside(group.inside, col + 1, col + 1, col + 1, tail + 1)
    aligned = [head + aligned[0], *aligned[1:]]
    aligned[-1] += close
    below = [head, *_indented(inside(group.inside, base + 2, base + 2, base + 2, tail + 1), base + 2)]
    below[-1] += close
    excess = _excess(aligned, col, tail), _excess(below, col, tail)
    query = word_at(group.inside, skip_comments(group.inside, 0)) in VERBS
    if is_comment(group.inside[0]) or (query and first_of(group.inside).newline and excess[1] <= excess[0]):
        return below
    near = query and col <= NEAR
    far = col - base > FAR
    return aligned if (excess[0], len(aligned) + far, not near) < (excess[1], len(below), near) else below


def _pairs(parts: list[Part], col: int, indent: int, _: int, tail: int) -> Lines:
    """Lay out keys and values, each pair on one line."""
    flat = on_one_line(parts)
    if flat is not None and _excess([flat], col, tail) == 0:
        return [flat]
    items = split_at_commas(parts)
    return _fill([[*items[n], *(items[n + 1 : n + 2] or [[]])[0]] for n in range(0, len(items), 2)], col, indent, tail)


def _case(group: Group, col: int, base: int, tail: int) -> Lines:
    branches = split_before(group.inside, "when", "else")
    head = "case"
    if word_at(branches[0], 0) != "when":
        head += f" {on_one_line(branches.pop(0))}"
    out: Lines = []
    at = col + len(head) + 1
    if first_of(branches[0]).newline:
        out = [head]
        at = base + 2
    for n, branch in enumerate(branches):
        lines = _branch(branch, at, 4 + tail if n == len(branches) - 1 else 0)
        if out:
            out += _indented(lines, at)
        else:
            out = [f"{head} {lines[0]}", *lines[1:]]
            at = col + 5
    out[-1] += " end"
    return out


def _branch(parts: list[Part], col: int, tail: int) -> Lines:
    """Lay out `when … then …` or `else …`."""
    at = next((n for n, part in enumerate(parts) if text_of([part]) == "then"), None)
    if at is None or word_at(parts, 0) != "when":
        return _render(parts, col, col + 2, col, tail)
    condition = _render(parts[1:at], col + 5, col + 5, col, 5)
    head = ["when " + condition[0], *condition[1:]]
    head[-1] += " then"
    below = [*head, *_indented(_render(parts[at + 1 :], col + 2, col + 2, col + 2, tail), col + 2)]
    here = len(head[-1]) + (col if len(head) == 1 else 0) + 1
    body = _render(parts[at + 1 :], here, here, col, tail)
    same = [*head[:-1], f"{head[-1]} {body[0]}", *body[1:]]
    broken = len(body) > 1
    ranks = (_excess(same, col, tail), len(same) + broken, broken), (_excess(below, col, tail), len(below), not broken)
    return same if ranks[0] < ranks[1] else below


def _as_written(parts: list[Part], col: int) -> Lines | None:
    """The existing lines, moved to a column; None if they are indented less than the part."""
    first, *others = tokens_of(parts)
    out = [first.text]
    for token in others:
        if not token.newline:
            out[-1] += token.gap + token.text
            continue
        at = token.col + col - first.col
        hangs = token.col < first.col or (token.col == first.col and token.text not in HARD | SOFT | JOINS)
        if at < 0 or (hangs and not first.newline):
            return None
        out += [""] * token.blank
        out.append(" " * at + token.text)
    return out


def _excess(lines: Lines, col: int, tail: int = 0) -> int:
    """The number of columns by which the lines exceed the width."""
    widths = [len(line) for line in lines]
    widths[0] += col
    widths[-1] += tail
    return sum(max(0, width - WIDTH) for width in widths)
