"""The code blocks of a page, and how they run: a page is one program, from its first block to its last.

A Python block that begins with `# name.py` is also written to that file, which later blocks and commands may use. An HTML comment
that begins with `test` is Python code that readers do not see: it checks the blocks before it. Files whose names end in
_test.py or begin with test_ are run by pytest.
"""

import ast
import inspect
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$|^<!-- (test)\n(.*?)^-->$", re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"# ([\w/]+\.py)\n")


@dataclass(frozen=True, slots=True)
class Block:
    page: str
    line: int
    language: str
    text: str

    @property
    def file(self) -> str | None:
        named = _FILE.match(self.text)
        return named[1] if named and self.language == "python" else None

    @property
    def is_test_file(self) -> bool:
        return self.file is not None and (self.file.startswith("test_") or self.file == "conftest.py")


def blocks(path: Path, page: str) -> Iterator[Block]:
    text = path.read_text()
    for found in _BLOCK.finditer(text):
        language, code = ("python", found[4]) if found[3] else (found[1], found[2])
        line = text.count("\n", 0, found.start()) + 1
        yield Block(page, line, language, code)


async def run(block: Block, namespace: dict[str, Any]) -> None:
    """Run a block in the page's namespace; `await` may stand at its top."""
    source = "\n" * block.line + block.text  # so that a traceback names the page's own lines
    code = compile(source, block.page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    result = types.FunctionType(code, namespace)()
    if inspect.iscoroutine(result):
        await result
