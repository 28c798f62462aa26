"""The location of the embedded Postgres's files, and the user that runs it.

The data directory is the first of: the argument, PLAIT_DATA_DIR, `.plait/` if the current directory has one, and a
directory of the user. Each major version of Postgres has its own *place* in it, so that a newer version never
opens an older version's files:

    <data directory>/pg18/data/   the cluster, which only Postgres's user can enter
                          run/    locks, the server's address, the socket's directory
                          log/    postgres.log, keeper.log

**Root.** Postgres refuses to run as root, so root runs it as another user, the first of: PLAIT_EMBEDDED_USER; the owner
of the cluster; the owner of the data directory or of its parent (so that alice's project stays hers under sudo);
`postgres`; `nobody`. That user must be able to enter every directory above its files, and it
cannot enter root's home (mode 0700). plait never changes the access to a directory that is not its own. Therefore:


- root's default data directory is /var/lib/plait, not one below its home;
- a data directory below an inaccessible one has a link `pg18` to a place in /var/lib/plait/elsewhere;
- but only on the same file system. If the data directory is on another file system, such as a mounted volume, the
  data must stay there, so this is an error that names the inaccessible directory.

Another user's directory is not safe for root: its owner could put links there. As root, only links that root created are followed, files
are opened without following links, and anything unexpected is an error (`UnsafeDirectory`). These checks are made at the start: as root, use
directories of trusted users only.

Access is determined from the mode bits; access control lists are not considered.
"""

from __future__ import annotations

import os
import pwd
import secrets
import stat
import sys
from dataclasses import dataclass
from pathlib import Path

from plait.embedded.keeper.files import inherit_owner, refuse_links
from plait.embedded.postgres_errors import (
    ClusterGone,
    DataDirectoryDenied,
    NoUnprivilegedUser,
    UnreachableDirectory,
    UnsafeDirectory,
)

MACHINE_HOME = Path("/var/lib/plait")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The user that runs Postgres if this process runs as root."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]

    def barred_by(self, path: Path) -> Path | None:
        """The topmost directory above `path` that this user cannot enter."""
        return next((parent for parent in reversed(path.absolute().parents) if not self._may_pass(parent)), None)

    def _may_pass(self, directory: Path) -> bool:
        try:
            found = directory.stat()
        except FileNotFoundError:
            return True  # it will be created
        if found.st_uid == self.uid:
            return bool(found.st_mode & stat.S_IXUSR)
        if found.st_gid in {self.gid, *self.groups}:
            return bool(found.st_mode & stat.S_IXGRP)
        return bool(found.st_mode & stat.S_IXOTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The files of one major version of Postgres, and the user that runs it (None: this process's user)."""

    path: Path
    account: Account | None

    @property
    def run(self) -> Path:
        return self.path / "run"

    @property
    def log(self) -> Path:
        return self.path / "log"


def choose_data_dir(given: Path | None = None) -> Path:
    if given is not None:
        return given.expanduser().absolute()
    if named := os.environ.get("PLAIT_DATA_DIR"):
        return Path(named).expanduser().absolute()
    here = Path.cwd() / ".plait"
    if not here.is_dir():
        return _user_data_dir()
    owner = here.stat().st_uid
    if owner not in (os.geteuid(), Path.cwd().stat().st_uid):
        # Found, not configured: in /tmp, for example, any user could have created it.
        raise UnsafeDirectory(f"{here} belongs to uid {owner}, which is neither you nor the owner of {Path.cwd()}")
    return here


def _user_data_dir() -> Path:
    if os.geteuid() == 0:
        return MACHINE_HOME
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "plait"
    # The XDG rules: a relative path in the variable is invalid and must be ignored.
    named = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (named if named.is_absolute() else Path.home() / ".local" / "share") / "plait"


def make_place(data_dir: Path, version: int) -> Place:
    """Find or create the place of this version in the data directory."""
    try:
        for name in ("", "data", "run", "log", "run/sock"):
            refuse_links(data_dir / f"pg{version}" / name)
        account = _account(data_dir, version) if os.geteuid() == 0 else None
        make_directory(data_dir, passable=account is not None and _is_ours(data_dir, version))
        path = _settle(data_dir / f"pg{version}", account)
        place = Place(path=path, account=account)
        make_directory(place.path, passable=account is not None)
        make_directory(place.run, passable=account is not None)
        make_directory(place.log, passable=False)
    except PermissionError as error:
        raise DataDirectoryDenied(str(error)) from error
    return place


def _account(data_dir: Path, version: int) -> Account:
    if named := os.environ.get("PLAIT_EMBEDDED_USER"):
        try:
            chosen = pwd.getpwnam(named)
        except KeyError:
            raise NoUnprivilegedUser(f"User {named!r} does not exist.") from None
        if chosen.pw_uid == 0:
            raise NoUnprivilegedUser(f"{named!r} is root.")
        return _of(chosen)
    owners = (_owner(data_dir / f"pg{version}" / "data"), _owner(_nearest(data_dir)))
    for candidate in (*owners, "postgres", "nobody"):
        try:
            chosen = pwd.getpwuid(candidate) if isinstance(candidate, int) else pwd.getpwnam(candidate)
        except KeyError:
            continue  # initdb requires a user with a name
        if chosen.pw_uid != 0:
            return _of(chosen)
    raise NoUnprivilegedUser


def _is_ours(data_dir: Path, version: int) -> bool:
    """Whether other users may be granted access to the directory. They must not be if it is root's own home."""
    place = data_dir / f"pg{version}"
    return not data_dir.exists() or not any(data_dir.iterdir()) or (place.is_dir() and not place.is_symlink())


def _owner(path: Path) -> int:
    return path.stat().st_uid if path.exists() else 0


def _of(user: pwd.struct_passwd) -> Account:
    groups = tuple(os.getgrouplist(user.pw_name, user.pw_gid))
    return Account(name=user.pw_name, uid=user.pw_uid, gid=user.pw_gid, groups=groups)


def _settle(path: Path, account: Account | None) -> Path:
    """Follow the link to a place elsewhere, and create one if the account could not access the files."""
    if account and not path.is_symlink() and (barred := account.barred_by(path)):
        moves_volume = path.parent.stat().st_dev != _nearest(MACHINE_HOME).stat().st_dev
        if path.exists() or moves_volume:
            raise UnreachableDirectory(f"user {account.name!r} cannot enter {barred}, which contains {path}")
        elsewhere = MACHINE_HOME / "elsewhere"
        # The name is random, so that a new data directory does not get the data of a deleted one.
        place = elsewhere / f"{path.parent.parent.name}-{secrets.token_hex(4)}"
        for directory in (MACHINE_HOME, elsewhere, place):
            make_directory(directory, passable=True)
        try:
            path.symlink_to(place)
        except FileExistsError:
            place.rmdir()  # another process was faster, and its link is used by both
    if path.is_symlink() and not path.exists():
        raise ClusterGone(f"{path} -> {path.readlink()}")
    return path.resolve()


def _nearest(path: Path) -> Path:
    return next(parent for parent in (path, *path.parents) if parent.exists())


def make_directory(directory: Path, *, passable: bool) -> None:
    refuse_links(directory)
    if not directory.is_dir():
        if not directory.parent.exists():
            make_directory(directory.parent, passable=passable)  # for this user too, regardless of the umask
        directory.mkdir(mode=0o700, exist_ok=True)
        inherit_owner(directory)
    if passable:
        # Uses a descriptor, so that the checked directory is the one that is changed. Links that root created may be followed.
        handle = os.open(directory.resolve(), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            mode = stat.S_IMODE(os.fstat(handle).st_mode)
            if mode & 0o011 != 0o011:
                os.fchmod(handle, mode | 0o011)  # our own: allow entering, but not listing
        finally:
            os.close(handle)
