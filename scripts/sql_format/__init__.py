"""Format plait/sql for a width of 100 columns: `python -m scripts.sql_format`. With `--check` it only reports.

It changes only the layout. A statement with a longer line is broken at its clauses, commas and operators, a longer comment is
wrapped, and trailing white space is removed. A statement that fits is not changed. `format_sql` repeats this
until nothing changes, so it is idempotent. It compares the tokens and the words of the comments before and after, and fails if
they differ. Only a line with a long string may exceed the width.

No existing tool is suitable, according to a test with ten complicated functions (1,591 lines). sqlfluff 4.5 and sqruff 0.44 treat a function's
body, which is almost all of plait/sql, as one string. pgFormatter 5.5 formats bodies. But it removed `#variable_conflict use_column` from four
functions, removed all blank lines, indented wrapped lines with tabs, and indented comments further with each run. It produced 76% more lines, and
left 89 lines too long.
"""

from .comments import SUMMARY, move_trailing_comments, wrap_comments
from .statements import break_statements
from .tokens import WIDTH, tokenize

ROUNDS = 20
"""The maximum number of rounds. Each round may break or wrap further lines; a file needs up to five."""
LONG_STRING = 60
"""A line with a string of this length may be too long."""


def format_sql(text: str) -> str:
    """Format SQL."""
    before = text
    for _ in range(ROUNDS):
        after = "".join(line.rstrip() + "\n" for line in before.splitlines())
        if any(len(line) > WIDTH for line in after.splitlines()):
            for step in (move_trailing_comments, wrap_comments, break_statements):
                after = step(after)
        if after == before:
            require_same_meaning(text, after)
            return after
        before = after
    raise ValueError(f"the layout is not stable after {ROUNDS} rounds")


def require_same_meaning(before: str, after: str) -> None:
    if before != after and (_code(before) != _code(after) or _words(before) != _words(after)):
        raise ValueError("the formatter would change more than the layout: this is a bug in scripts/sql_format")


def faults(text: str) -> list[str]:
    """List faults that must be corrected by hand: tabs, names in upper case, and lines that could not be broken."""
    lines = text.splitlines()
    found = [f"line {n}: a tab" for n, line in enumerate(lines, 1) if "\t" in line]
    strings: dict[int, int] = {}
    for token in tokenize(text):
        if token.kind == "word" and '"' not in token.text and token.text != token.text.lower():
            found.append(f"line {token.line + 1}: {token.text}: write it in lower case")
        if token.kind == "string":
            strings[token.line] = max(strings.get(token.line, 0), len(token.text))
    summary = SUMMARY.match(text) is not None
    return found + [
        f"line {n}: {len(line)} columns: {'shorten the summary' if n == 1 and summary else 'break it by hand'}"
        for n, line in enumerate(lines, 1)
        if len(line) > WIDTH and strings.get(n - 1, 0) < LONG_STRING
    ]


def _code(text: str) -> list[str]:
    return [token.text for token in tokenize(text) if token.kind != "comment"]


def _words(text: str) -> list[str]:
    return [word for token in tokenize(text) if token.kind == "comment" for word in token.text[2:].split()]
