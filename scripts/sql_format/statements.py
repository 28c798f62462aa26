"""Split a text into statements, and lay out the statements that are too wide."""

from itertools import pairwise

from .layout import lay_out
from .tokens import WIDTH, Token, tokenize

_BLOCKS = {"then", "else", "loop", "begin", "declare"}
_ENDS = {"end", "else", "elsif", "exception"}


def break_statements(text: str) -> str:
    """Lay out each statement with a line that is too long."""
    lines = text.splitlines()
    out: list[str] = []
    done = 0
    for chunk in _chunks(tokenize(text)):
        first, last = chunk[0][0].line, chunk[-1][-1].line + 1
        too_long = any(len(line) > WIDTH for line in lines[first:last])
        if not too_long or any("\n" in token.text for unit in chunk for token in unit):
            continue
        out += lines[done:first]
        out += lay_out(chunk[0]) if len(chunk) == 1 else _separate(chunk, lines[first:last])
        done = last
    return "\n".join(out + lines[done:]) + "\n"


def _chunks(tokens: list[Token]) -> list[list[list[Token]]]:
    """The statements. Statements that share a line are returned together. Comments between two statements belong to neither."""
    chunks: list[list[list[Token]]] = []
    for unit in _units(tokens):
        while unit and unit[0].kind == "comment":
            unit.pop(0)
        if unit and chunks and chunks[-1][-1][-1].line == unit[0].line:
            chunks[-1].append(unit)
        elif unit:
            chunks.append([unit])
    return chunks


def _units(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each statement, up to `;` or a word that opens a block. A comment at the end of that line is part of the statement."""
    units: list[list[Token]] = [[]]
    parens = cases = 0
    for n, token in enumerate(tokens):
        if token.kind == "comment" and not token.newline and not units[-1] and len(units) > 1:
            units[-2].append(token)
            continue
        before = tokens[n - 1].text if n else ""
        after = tokens[n + 1].text if n + 1 < len(tokens) else ""
        if token.kind == "punct":
            parens += (token.text in "([") - (token.text in ")]")
        cases += token.text == "case" and bool(units[-1]) and before != "end"
        units[-1].append(token)
        if token.text == "end" and cases:
            cases -= 1
        elif not parens and _ends_unit(token, before, after, cases):
            units.append([])
            cases = 0
    return [unit for unit in units if unit]


def _ends_unit(token: Token, before: str, after: str, cases: int) -> bool:
    if token.kind == "word":
        ends_loop = token.text == "loop" and before == "end"
        return token.text in _BLOCKS and not cases and not ends_loop and after != "atomic"
    opens_body = token.kind == "dollar" and before in ("as", "do")
    return token.text == ";" or opens_body or token.kind == "directive"


def _separate(chunk: list[list[Token]], lines: list[str]) -> list[str]:
    """Split statements that share a line. Begin a new line after the last statement that ends within the width, or before the second statement if none
    does."""
    offset = chunk[0][0].line
    long = next(n for n, line in enumerate(lines) if len(line) > WIDTH)
    pairs = [(before[-1], unit[0]) for before, unit in pairwise(chunk)]
    here = [pair for pair in pairs if pair[1].line == offset + long]
    fitting = [pair for pair in here if pair[0].col + len(pair[0].text) <= WIDTH]
    before, head = (fitting or here or pairs)[-1 if fitting else 0]
    at = head.line - offset
    line = lines[at]
    indent = len(lines[0]) - len(lines[0].lstrip())
    if before.text != ";" and head.text not in _ENDS:
        indent += 2
    return [*lines[:at], line[: head.col].rstrip(), " " * indent + line[head.col :], *lines[at + 1 :]]
