"""Files and locks of the keeper and of the processes that use its server. They are opened in a way that prevents other users from redirecting root to other files."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from pathlib import Path


class Lock:
    """A flock on one file. Two locks on the same file exclude each other, even in one process."""

    def __init__(self, path: Path) -> None:
        self.fd = open_file(path, os.O_RDWR)

    def try_exclusive(self) -> bool:
        return self._try(fcntl.LOCK_EX)

    def try_shared(self) -> bool:
        return self._try(fcntl.LOCK_SH)

    def release(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close this process's handle; a child that inherited the lock still holds it."""
        os.close(self.fd)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def inherit_owner(path: Path) -> None:
    """As root, give a new file to the owner of its directory, who could not open it otherwise."""
    if os.geteuid() == 0:
        above = path.parent.stat()
        os.chown(path, above.st_uid, above.st_gid, follow_symlinks=False)


class Unsafe(OSError):
    """A file or directory that root must not use: another user could redirect it."""


def open_file(path: Path, flags: int) -> int:
    """Open or create one of the keeper's files. As root, follow no link, and reject a file that another user created or that has a second link."""
    try:
        fd = os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unsafe(f"{path} is a symbolic link") from None
        raise
    if os.geteuid() == 0:
        found, above = os.fstat(fd), path.parent.stat()
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_uid not in (0, above.st_uid):
            os.close(fd)
            raise Unsafe(f"{path} is not a regular file, has more than one hard link, or belongs to uid {found.st_uid}")
        os.fchown(fd, above.st_uid, above.st_gid)
    return fd


def refuse_links(path: Path) -> None:
    """As root: raise an error if this or a directory above it is a symbolic link that another user created."""
    if os.geteuid() == 0:
        for part in (*reversed(path.absolute().parents), path.absolute()):
            with contextlib.suppress(FileNotFoundError):
                found = part.lstat()
                if stat.S_ISLNK(found.st_mode) and found.st_uid != 0:
                    raise Unsafe(f"{part} is a symbolic link that belongs to uid {found.st_uid}")
