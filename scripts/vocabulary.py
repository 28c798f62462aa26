"""Reject retired phrases and sentence forms in prose: `python scripts/vocabulary.py`.

`vocabulary.toml` has the phrases and the paths to check. The lint reads docstrings, comments and string constants of
Python, comments of SQL, Markdown outside code, and sources of the web UI. A sentence must not begin with "What", "Who",
"Whoever" or "Whatever" unless it is a question: begin with a noun or with "you".
"""

import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "scripts" / "vocabulary.toml"
GENERATED = {"node_modules", "static", "dist", "build", ".venv", ".envs", "__pycache__", "results"}
FORM = re.compile(
    r"(?:^|(?<=[.!?:])[\s\"']+)(?P<sentence>(?:What|Who|Whoever|Whatever)\b[^.!?]*(?:[.!?](?=\w)[^.!?]*)*(?P<end>[.!?]?))"
)
OPENING = re.compile(r"(?:what|who|whoever|whatever)\b", re.IGNORECASE)


class Text(NamedTuple):
    """A piece of prose, and the line where it begins."""

    line: int
    words: str


class Vocabulary:
    """The phrase list."""

    def __init__(self, retired: dict[str, str], allowed: list[str]) -> None:
        self._instead = {phrase.lower(): instead for phrase, instead in retired.items()}
        longest_first = sorted(self._instead, key=len, reverse=True)
        alternatives = "|".join(re.escape(phrase).replace(r"\ ", r"\s+") for phrase in longest_first)
        self._retired = re.compile(rf"\b(?:{alternatives})\b", re.IGNORECASE)
        self._allowed = tuple(allowed)

    def faults(self, text: Text) -> Iterator[tuple[int, str]]:
        """Yield the line and the fault of each phrase and sentence that must be rewritten."""
        if _capitalised(text.words).startswith(self._allowed):
            return
        for match in self._retired.finditer(text.words) if self._instead else ():
            phrase = " ".join(match[0].lower().split())
            yield text.line + text.words.count("\n", 0, match.start()), f"{match[0]!r}: write {self._instead[phrase]}"
        for match in FORM.finditer(_capitalised(text.words)):
            sentence = " ".join(match["sentence"].split())
            if match["end"] != "?":
                line = text.line + text.words.count("\n", 0, match.start("sentence"))
                yield line, f"{sentence[:60]!r}: begin with a noun or with 'you'"


def main() -> int:
    listed = tomllib.loads(LIST.read_text())
    vocabulary = Vocabulary(listed["retired"], listed["allowed"])
    found = [
        f"{path.relative_to(ROOT)}:{line}: {fault}"
        for path in _files(listed["clean"])
        for text in texts(path.read_text(), path.suffix)
        for line, fault in vocabulary.faults(text)
    ]
    for fault in found:
        print(fault)  # noqa: T201
    return 1 if found else 0


def texts(source: str, suffix: str) -> Iterator[Text]:
    """The prose of a file."""
    match suffix:
        case ".py":
            yield from _python(source)
        case ".sql":
            yield from _blocks(source, re.compile(r"^\s*-- ?(.*)$"))
        case ".md":
            yield from _markdown(source)
        case ".ts" | ".tsx" | ".css":
            yield from _typescript(source)
        case _:
            yield from _blocks(source, re.compile(r"^\s*# ?(.*)$"))


def _files(clean: list[str]) -> Iterator[Path]:
    suffixes = {".py", ".sql", ".md", ".ts", ".tsx"}
    for name in clean:
        listed = sorted(ROOT.glob(name))
        if not listed:
            raise SystemExit(f"{LIST.name}: there is no {name}")
        for path in listed:
            for file in [path] if path.is_file() else sorted(path.rglob("*")):
                if file.suffix in suffixes and not GENERATED & set(file.relative_to(ROOT).parts):
                    yield file


def _python(source: str) -> Iterator[Text]:
    yield from _blocks(source, re.compile(r"^\s*#:? ?(.*)$"))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip():
            yield Text(token.start[0], token.string.lstrip("#: "))
    for node in ast.walk(ast.parse(source)):
        # Each constant part of an f-string is a separate node.
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value.strip():
            for number, paragraph in _paragraphs(node.value):
                yield Text(node.lineno + number, paragraph)


def _markdown(source: str) -> Iterator[Text]:
    fenced = False
    lines = []
    for line in source.splitlines():
        fence = line.lstrip().startswith("```")
        lines.append("" if fenced or fence else line)
        fenced ^= fence
    text = re.sub(r"<!--.*?-->", lambda match: "\n" * match[0].count("\n"), "\n".join(lines), flags=re.DOTALL)
    for number, paragraph in _paragraphs(re.sub(r"`[^`\n]*`", "`code`", text)):
        yield from (Text(number + 1 + line, part) for line, part in _items(paragraph))


def _items(paragraph: str) -> Iterator[tuple[int, str]]:
    """Split into headings, list items and table cells."""
    held: list[str] = []
    start = 0
    for number, line in enumerate(paragraph.split("\n")):
        if line.lstrip().startswith("|"):
            for cell in line.strip().strip("|").split("|"):
                yield number, cell.strip(" *_")
            held, start = [], number + 1
            continue
        item = re.match(r"\s*(?:#+|[-*]|\d+\.|>)\s+", line)
        if item and held:
            yield start, "\n".join(held)
            held = []
        if not held:
            start = number
        held.append((line[item.end() :] if item else line).strip(" *_"))
        if item and "#" in item[0]:
            yield start, "\n".join(held)
            held = []
    if held:
        yield start, "\n".join(held)


def _typescript(source: str) -> Iterator[Text]:
    yield from _blocks(source, re.compile(r"^\s*(?://|/?\*+/?) ?(.*?)(?:\*/)?$"))
    literal = re.compile(r"\"([^\"\n]* [^\"\n]*)\"|'([^'\n]* [^'\n]*)'|`([^`]* [^`]*)`|>([^<>{}=;]* [^<>{}=;]*)<")
    for number, line in enumerate(source.splitlines(), start=1):
        if line.lstrip().startswith(("//", "*", "/*")):
            continue
        for match in literal.finditer(line):
            yield Text(number, next(group for group in match.groups() if group is not None).strip())
        if re.match(r"^\s*[A-Z][^<>{}=;()]*$", line):  # a line of text between tags
            yield Text(number, line.strip())


def _blocks(source: str, comment: re.Pattern[str]) -> Iterator[Text]:
    """Yield comments that have their own lines. Consecutive lines are one text."""
    start, held = 0, list[str]()
    for number, line in enumerate([*source.splitlines(), ""], start=1):
        match = comment.match(line)
        if match and match[1].strip():
            start = start if held else number
            held.append(match[1])
        elif held:
            yield Text(start, "\n".join(held))
            held = []


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    number = 0
    for paragraph in re.split(r"(\n\s*\n)", text):
        lead = len(paragraph) - len(paragraph.lstrip())
        if paragraph.strip():
            yield number + paragraph.count("\n", 0, lead), paragraph.strip()
        number += paragraph.count("\n")


def _capitalised(words: str) -> str:
    """The text with its first word capitalised, since messages and comments may begin in lower case."""
    return words[0].upper() + words[1:] if OPENING.match(words) else words


if __name__ == "__main__":
    sys.exit(main())
