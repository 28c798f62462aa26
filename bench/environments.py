"""A separate environment for every system, created when it is first needed and created again when its requirements have changed.

plait's environment is created from its lock file and this source tree, so that all Python systems run on the same Python version.

A peer that cannot be installed does not stop the run: it is listed as missing, with the installer's message.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.systems import System
from plait import __version__

HERE = Path(__file__).parent
ENVIRONMENTS = HERE / ".envs"
LOCK = HERE.parent / "requirements.lock"
LONGEST_S = 600


class Missing(Exception):
    """This peer cannot be measured here."""


def python(system: System) -> Path:
    return ENVIRONMENTS / system.name / "bin" / "python"


def sources(system: System) -> Path:
    """The source tree of the system's driver."""
    return ENVIRONMENTS / system.name / "tree" if system.commit else HERE.parent


def command(system: System, role: str) -> list[str]:
    """The command that starts the system's driver."""
    if system.language == "node":
        place = ENVIRONMENTS / system.name
        return [str(place / "node_modules/node/bin/node"), str(place / f"{system.name}.mjs"), role]
    return [str(python(system)), "-m", f"bench.drivers.{system.module}", role]


def prepare(system: System) -> None:
    """Create the system's environment, unless it exists and is current."""
    place = ENVIRONMENTS / system.name
    stamp, wanted = place / "made-from", "\n".join(system.requires)
    if system.language == "plait":
        wanted = (system.commit or "") + LOCK.read_text()
    if not (stamp.exists() and stamp.read_text() == wanted):
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        if system.language == "node":
            _install_node(place, system.requires)
        else:
            _install_python(place, system)
        if system.commit:
            _check_out(system.commit, sources(system))
        stamp.write_text(wanted)
    if system.language == "node":
        # Node resolves modules relative to the importing file, so the drivers are copied next to the packages.
        for name in ("protocol.mjs", f"{system.name}.mjs"):
            shutil.copyfile(HERE / "drivers" / name, place / name)


def versions(system: System) -> str:
    """The installed versions, in one line."""
    if system.language == "node":
        return ", ".join(system.requires)
    installed = _run([str(python(system)), "-c", "import sys; print('python', sys.version.split()[0])"])
    named = [__version__] if system.language == "plait" else system.requires
    return ", ".join([*named, installed.strip()])


def _install_python(place: Path, system: System) -> None:
    interpreter = _find_python(system.oldest_python)
    requires = ["--no-deps", "-r", str(LOCK)] if system.language == "plait" else system.requires
    if shutil.which("uv"):
        _run(["uv", "venv", "--quiet", "--clear", "--python", interpreter, str(place)])
        _run(["uv", "pip", "install", "--quiet", "--python", str(place / "bin/python"), *requires])
    else:
        _run([interpreter, "-m", "venv", "--clear", str(place)])
        _run([str(place / "bin/python"), "-m", "pip", "install", "--quiet", *requires])


def _check_out(commit: str, tree: Path) -> None:
    tree.mkdir()
    archive = tree.with_suffix(".tar")
    _run(["git", "-C", str(HERE.parent), "archive", "--output", str(archive), commit])
    _run(["tar", "-xf", str(archive), "-C", str(tree)])
    archive.unlink()


def _find_python(oldest: tuple[int, int]) -> str:
    """The newest installed Python of 3.13, 3.12 and 3.11. Newer versions are not used, because a peer may have no wheels for them yet."""
    for minor in (13, 12, 11):
        if (3, minor) < oldest:
            break
        if found := _interpreter(f"3.{minor}"):
            return found
    raise Missing(f"requires Python {oldest[0]}.{oldest[1]} or newer, which is not installed")


def _interpreter(version: str) -> str | None:
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [shutil.which(f"python{version}"), *map(str, root.glob(f"{version}.*/bin/python{version}"))]
    for candidate in candidates:
        # pyenv has shims for versions that are not selected, which fail.
        if candidate and subprocess.run([candidate, "--version"], capture_output=True, check=False).returncode == 0:
            return candidate
    return None


def _install_node(place: Path, packages: Sequence[str]) -> None:
    if not shutil.which("npm"):
        raise Missing("requires npm, which is not installed")
    (place / "package.json").write_text('{"private": true, "type": "module"}\n')
    _run(["npm", "install", "--no-audit", "--no-fund", "--prefix", str(place), *packages])


def _run(argv: Sequence[str]) -> str:
    try:
        ran = subprocess.run(argv, capture_output=True, text=True, timeout=LONGEST_S, check=False, cwd=HERE)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{argv[0]}: {error}") from error
    if ran.returncode:
        said = [line for line in (ran.stderr or ran.stdout).splitlines() if line.strip()]
        raise Missing(f"{' '.join(argv[:3])}: {' / '.join(said[-3:])}")
    return ran.stdout
