"""Wrap comments that are too long."""

import re

from .tokens import WIDTH, tokenize

_LINE = re.compile(r"(?P<head> *-- )(?P<text>.*)")
_LABEL = re.compile(r" *(?:\S+(?: \S+){0,3} {2,}(?=\S)|- )?")
"""The blanks or the label before a paragraph. The paragraph's other lines are indented by the same width."""
_EXAMPLE = re.compile(r" {2,}(?:select|with|insert|update|delete|call)\b")
"""A statement in a comment is not prose, so it must be broken by hand."""
SUMMARY = re.compile(r"-- [a-z_]\w*: ")
"""The first line of a function's file. The reference shows it, so it is one line."""
_LEAST = 40
"""A comment is wrapped at the end of its line if this many columns are free there."""


def move_trailing_comments(text: str) -> str:
    """Wrap a comment that makes its line too long. In a list of columns or variables, wrap it within its column; otherwise move it above the line."""
    lines = text.splitlines()
    comments = [token for token in tokenize(text) if token.kind == "comment"]
    starts = {token.line: token.col for token in comments if not token.newline}
    beside = {token.line: token.text[2:].strip() for token in comments if token.beside}
    out: list[str] = []
    n = 0
    while n < len(lines):
        line, at, first = lines[n], starts.get(n), n
        n += 1
        if at is None:
            out.append(line)
            continue
        comment = [line[at + 2 :].strip()]
        while n in beside:
            comment.append(beside[n])
            n += 1
        if all(len(one) <= WIDTH for one in lines[first:n]):
            out += lines[first:n]
            continue
        code = line[:at].rstrip()
        indent = len(code) - len(code.lstrip())
        aligned = line[:at].endswith("    ") or at in (starts.get(first - 1), starts.get(n))
        if aligned and len(code) <= WIDTH and at <= WIDTH - _LEAST:
            wrapped = _balance(" ".join(comment), WIDTH - at - 3)
            out += [f"{line[:at]}-- {wrapped[0]}", *(" " * at + "-- " + one for one in wrapped[1:])]
        else:
            out += [" " * indent + "-- " + one for one in _fill(" ".join(comment), WIDTH - indent - 3)]
            out.append(code)
    return "\n".join(out) + "\n"


def wrap_comments(text: str) -> str:
    """Move the words of a comment line that do not fit to the next line of its paragraph, or to a new line."""
    lines = text.splitlines()
    own = {token.line for token in tokenize(text) if token.kind == "comment" and token.newline and not token.beside}
    comments = [n in own for n in range(len(lines))]
    comments[0] = comments[0] and not SUMMARY.match(text)
    n = 0
    while n < len(lines):
        match = _LINE.match(lines[n]) if comments[n] and len(lines[n]) > WIDTH else None
        if match is not None and not _EXAMPLE.match(match["text"]):
            label = _LABEL.match(match["text"])
            more = match["head"] + " " * len(label[0] if label else "")
            blanks = len(match["text"]) - len(match["text"].lstrip())
            first, *rest = _fill(match["text"].strip(), WIDTH - len(more), len(more) - len(match["head"]) - blanks)
            lines[n] = match["head"] + " " * blanks + first
            after = lines[n + 1][len(more) :] if comments[n + 1] and lines[n + 1].startswith(more) else ""
            if len(rest) == 1 and _continues(rest[0], after):
                lines[n + 1] = f"{more}{rest[0]} {after}"
            else:
                lines[n + 1 : n + 1] = [more + one for one in rest]
                comments[n + 1 : n + 1] = [True] * len(rest)
        n += 1
    return "\n".join(lines) + "\n"


def _continues(before: str, after: str) -> bool:
    """Whether a line continues the paragraph of the line before it."""
    if not after or after[0] in " -":
        return False
    return re.search(r"[.:;]$", before) is None or re.match(r"[a-z][a-z']*[ ,]", after) is not None


def _balance(text: str, width: int) -> list[str]:
    """Wrap text into the minimum number of lines, of about the same length."""
    lines = _fill(text, width)
    while len(shorter := _fill(text, width - 1)) == len(lines) and max(map(len, shorter)) < width:
        lines, width = shorter, width - 1
    return lines


def _fill(text: str, width: int, label: int = 0) -> list[str]:
    """Break words into lines. The first line begins with a label; the other lines are indented by its width."""
    lines = [""]
    for word in text.split(" "):
        room = width + label if len(lines) == 1 else width
        if lines[-1].strip() and len(lines[-1]) + 1 + len(word) > room:
            lines.append(word)
        else:
            lines[-1] += (" " if lines[-1] else "") + word
    return lines
