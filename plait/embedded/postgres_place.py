"""Where the embedded Postgres keeps its files, and as whom it runs.

The data directory is the argument, else PLAIT_DATA_DIR, else `.plait/` if the current directory has one, else
a directory of the user. Each major version of Postgres has a *place* inside it, so that a newer one never
opens an older one's files:

    <data directory>/pg18/data/   the cluster, entered by Postgres's own user only
                          run/    locks, the server's address, the socket's directory
                          log/    postgres.log, keeper.log

**Root.** Postgres refuses to run as root, so root runs it as somebody else: PLAIT_EMBEDDED_USER, else whoever
owns the cluster, else whoever owns the data directory or the directory it is made in (a project of alice's
stays alice's under sudo), else `postgres`, else `nobody`. That user must be able to pass every directory
above its files, and below root's home (mode 0700) it can't. plait never opens up a directory that is not its
own, so:

- root's default data directory is /var/lib/plait, not one below its home;
- a data directory below a barred one keeps a link `pg18` to a place made in /var/lib/plait/elsewhere;
- but only on the same file system. On another one (a volume mounted there) moving the data away would
  lose exactly what the volume is there to keep, so that is an error which names the barring directory.

Somebody else's directory is no safe place for root: its owner could put links there. As root, links are followed only where root has made them, files
are opened without following any, and what is not what it should be is an error (`UnsafeDirectory`). These are checks at the start: as root, use
directories of people whom you trust.

Whether a user may pass is read from the mode bits; an access control list that lets it pass is not seen.
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
    """The user that Postgres runs as when we are root."""

    name: str
    uid: int
    gid: int
    groups: tuple[int, ...]

    def barred_by(self, path: Path) -> Path | None:
        """The topmost directory above `path` that this user can't pass."""
        return next((parent for parent in reversed(path.absolute().parents) if not self._may_pass(parent)), None)

    def _may_pass(self, directory: Path) -> bool:
        try:
            found = directory.stat()
        except FileNotFoundError:
            return True  # we are about to make it
        if found.st_uid == self.uid:
            return bool(found.st_mode & stat.S_IXUSR)
        if found.st_gid in {self.gid, *self.groups}:
            return bool(found.st_mode & stat.S_IXGRP)
        return bool(found.st_mode & stat.S_IXOTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The files of one major version of Postgres, and the user that serves them (None: ourselves)."""

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
        # Found, not named: in /tmp, for one, anybody could have put it there.
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
    """Find or make the place of this version below the data directory."""
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
            raise NoUnprivilegedUser(f"There is no user {named!r}.") from None
        if chosen.pw_uid == 0:
            raise NoUnprivilegedUser(f"{named!r} is root.")
        return _of(chosen)
    owners = (_owner(data_dir / f"pg{version}" / "data"), _owner(_nearest(data_dir)))
    for candidate in (*owners, "postgres", "nobody"):
        try:
            chosen = pwd.getpwuid(candidate) if isinstance(candidate, int) else pwd.getpwnam(candidate)
        except KeyError:
            continue  # initdb insists on a user with a name
        if chosen.pw_uid != 0:
            return _of(chosen)
    raise NoUnprivilegedUser


def _is_ours(data_dir: Path, version: int) -> bool:
    """Whether we may let others pass: who names root's own home as data directory does not want it opened."""
    place = data_dir / f"pg{version}"
    return not data_dir.exists() or not any(data_dir.iterdir()) or (place.is_dir() and not place.is_symlink())


def _owner(path: Path) -> int:
    return path.stat().st_uid if path.exists() else 0


def _of(user: pwd.struct_passwd) -> Account:
    groups = tuple(os.getgrouplist(user.pw_name, user.pw_gid))
    return Account(name=user.pw_name, uid=user.pw_uid, gid=user.pw_gid, groups=groups)


def _settle(path: Path, account: Account | None) -> Path:
    """Follow the link to a place elsewhere, and make one where the account could not reach the files."""
    if account and not path.is_symlink() and (barred := account.barred_by(path)):
        moves_volume = path.parent.stat().st_dev != _nearest(MACHINE_HOME).stat().st_dev
        if path.exists() or moves_volume:
            raise UnreachableDirectory(f"{barred} keeps user {account.name!r} from {path}")
        elsewhere = MACHINE_HOME / "elsewhere"
        # A random name: who deletes the data directory and begins anew must not get the old data back.
        place = elsewhere / f"{path.parent.parent.name}-{secrets.token_hex(4)}"
        for directory in (MACHINE_HOME, elsewhere, place):
            make_directory(directory, passable=True)
        try:
            path.symlink_to(place)
        except FileExistsError:
            place.rmdir()  # a neighbour was quicker, and its link holds for both
    if path.is_symlink() and not path.exists():
        raise ClusterGone(f"{path} -> {path.readlink()}")
    return path.resolve()


def _nearest(path: Path) -> Path:
    return next(parent for parent in (path, *path.parents) if parent.exists())


def make_directory(directory: Path, *, passable: bool) -> None:
    refuse_links(directory)
    if not directory.is_dir():
        if not directory.parent.exists():
            make_directory(directory.parent, passable=passable)  # ours too, whatever our umask is
        directory.mkdir(mode=0o700, exist_ok=True)
        inherit_owner(directory)
    if passable:
        # By a descriptor: what was checked is what is changed. A link of root's own may be followed.
        handle = os.open(directory.resolve(), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            mode = stat.S_IMODE(os.fstat(handle).st_mode)
            if mode & 0o011 != 0o011:
                os.fchmod(handle, mode | 0o011)  # it is ours: pass, but not look
        finally:
            os.close(handle)
