"""The required form of files in plait/sql, so that a function and its contract are found by its name."""

import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import PurePosixPath

FUNCTIONS = "plait/sql/functions"
CLAUSES = ("moves", "locks", "raises", "called")
DEFINITION = re.compile(
    r'\bcreate\s+(?:or\s+replace\s+)?(?:function|procedure)\s+(?:"?plait"?\s*\.\s*)?"?(\w+)"?\s*\(',
    re.IGNORECASE,
)
CALL = re.compile(r"\bplait\.(\w+)\s*\(", re.IGNORECASE)
MOST_BY_PLACE = 5
COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)


def faults(files: Mapping[str, str]) -> list[str]:
    """Faults of the .sql files of plait/sql, given by their names within the project."""
    defined_in = _definitions(files)
    return [
        *_misplaced(defined_in),
        *(
            f"{name} is not in a folder of {FUNCTIONS}"
            for name in files
            if _is_function_file(name) and not _has_folder(name)
        ),
        *(fault for name in files if _is_function_file(name) for fault in _headless(name, files[name])),
        *_shared_from_a_callers_file(defined_in, files),
    ]


def _definitions(files: Mapping[str, str]) -> dict[str, list[str]]:
    defined_in: dict[str, list[str]] = defaultdict(list)
    for name, text in files.items():
        for function in DEFINITION.findall(_code(text)):
            defined_in[function].append(name)
    return defined_in


def _misplaced(defined_in: Mapping[str, list[str]]) -> list[str]:
    found = []
    for function, names in defined_in.items():
        if len(names) > 1:
            found.append(f"{function} is defined {len(names)} times: {', '.join(names)}")
        for name in names:
            if not function.startswith("_") and not (_is_function_file(name) and _stem(name) == function):
                found.append(f"{function} belongs into a {function}.sql of {FUNCTIONS}, and is in {name}")
    return found


def _headless(name: str, text: str) -> list[str]:
    """A public function's file opens with its whole contract; a helper's own file with what it is for."""
    stem = _stem(name)
    found = []
    if stem not in DEFINITION.findall(_code(text)):
        found.append(f"{name} does not define {stem}")
    head = []
    for line in text.splitlines():
        if not line.startswith("--"):
            break
        head.append(line)
    if head and re.match(r"-- long: \S", head[0]):
        head = head[1:]
    if not head or not re.match(rf"-- {stem}: \S", head[0]):
        found.append(f"{name} does not begin with `-- {stem}: …`")
    if not stem.startswith("_"):
        found += [
            f"{name} does not say what it {clause}"
            for clause in CLAUSES
            if not any(re.match(rf"--\s+{clause}\s+\S", line) for line in head)
        ]
    return found


def _shared_from_a_callers_file(defined_in: Mapping[str, list[str]], files: Mapping[str, str]) -> list[str]:
    """A helper lives with its only caller; one that others call too has a file of its own."""
    code = {name: _code(text) for name, text in files.items() if _is_function_file(name)}
    return [
        f"{function} is called from {other} too: give it a file of its own, not {home}"
        for function, homes in defined_in.items()
        for home in homes
        if function.startswith("_") and _is_function_file(home) and _stem(home) != function
        for other in code
        if other != home and re.search(rf"\b{function}\s*\(", code[other])
    ]


def calls_by_place(files: Mapping[str, str]) -> list[str]:
    """Calls with more than five arguments that do not name all of them: a reader can't tell which is which, and an argument that is
    added in the middle would shift the others."""
    return [
        f"{name} calls {call[1]} with {len(given)} arguments: name them (argument => value)"
        for name, text in files.items()
        for code in [_code(text) if name.endswith(".sql") else text]
        for call in CALL.finditer(code)
        if not re.search(r"(function|into)\s+$", code[: call.start()], re.IGNORECASE)
        and len(given := _arguments(code, call.end())) > MOST_BY_PLACE
        and not all("=>" in one for one in given)
    ]


def _arguments(text: str, start: int) -> list[str]:
    """The arguments between the parenthesis that opens before `start` and its end."""
    depth, parts, at, quoted = 0, [""], start, False
    while depth >= 0 and at < len(text):
        char = text[at]
        at += 1
        quoted ^= char == "'"
        if not quoted:
            depth += (char in "([") - (char in ")]")
            if char == "," and depth == 0:
                parts.append("")
                continue
        parts[-1] += char
    return parts


def _is_function_file(name: str) -> bool:
    return PurePosixPath(name).is_relative_to(FUNCTIONS)


def _has_folder(name: str) -> bool:
    return len(PurePosixPath(name).relative_to(FUNCTIONS).parts) == 2


def _stem(name: str) -> str:
    return PurePosixPath(name).stem


def _code(text: str) -> str:
    return COMMENT.sub("", text)
