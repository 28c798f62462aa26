"""The project's source files, for the rules in this directory."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def project_files() -> list[Path]:
    """The tracked files; where git can't tell (an archive, no git), all that .gitignore does not name."""
    try:
        answer = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return sorted(_walk(ROOT, _ignored()))
    listed = [ROOT / name for name in answer.stdout.decode().split("\0") if name]
    return [path for path in listed if path.is_file()]


def _ignored() -> list[str]:
    lines = (ROOT / ".gitignore").read_text().splitlines()
    return [".git", *(line.rstrip("/") for line in lines if line)]


def _walk(directory: Path, ignored: list[str]) -> Iterator[Path]:
    for path in directory.iterdir():
        if any(path.match(pattern) for pattern in ignored):
            continue
        if path.is_dir():
            yield from _walk(path, ignored)
        else:
            yield path


def sources(directory: str, *suffixes: str) -> list[Path]:
    """Source files below a directory of the project, tracked or not: a rule holds before the commit too."""
    return sorted(path for path in (ROOT / directory).rglob("*") if path.suffix in suffixes)


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
