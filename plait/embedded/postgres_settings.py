"""Settings of the embedded Postgres, for initdb and for the server.

All settings are passed on the command line, where neither an edited postgresql.conf nor ALTER SYSTEM can override them.
This matters most for durability, which nothing here may weaken.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from plait.embedded.postgres_errors import ReservedSetting, UnsafeSetting

PORT = 5432
"Every server has its own socket directory, so ports never conflict."
LONGEST_SOCKET_DIR = 103 - len(f"/.s.PGSQL.{PORT}")
"In bytes: Linux allows 107 for the path of a socket, macOS 103."

DURABLE = {"fsync": "on", "full_page_writes": "on"}
DEFAULTS = {
    "shared_buffers": "128MB",
    "max_connections": "100",
    "autovacuum": "on",
    "cluster_name": "plait",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
}
RESERVED = {
    "config_file",
    "data_directory",
    "external_pid_file",
    "hba_file",
    "ident_file",
    "listen_addresses",
    "log_destination",
    "logging_collector",
    "port",
    "unix_socket_directories",
    "unix_socket_group",
    "unix_socket_permissions",
}


def checked(settings: Mapping[str, str]) -> dict[str, str]:
    """The settings under their plain names. Rejects settings that would weaken durability or break the launcher."""
    # Postgres accepts a name in any case, and on its command line `-` for `_`.
    plain = {name.lower().replace("-", "_"): value for name, value in settings.items()}
    for name, value in plain.items():
        if name in RESERVED or not re.fullmatch(r"[a-z_][a-z0-9_.]*", name):
            raise ReservedSetting(name)
        if name in DURABLE and value.lower() not in {"on", "true", "yes", "1"}:
            raise UnsafeSetting(f"{name}={value}")
    return plain


def initdb_options(version: int) -> list[str]:
    # initdb syncs its files before it exits. This stays enabled: it takes less than a tenth of a second.
    options = ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--data-checksums"]
    if version >= 17:
        # Sorts like the C locale, knows Unicode's character classes, and is the same on every system.
        options += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    return [*options, "--no-instructions"]


def server_options(socket_dir: Path, settings: Mapping[str, str]) -> list[str]:
    fixed = {
        "listen_addresses": "",
        "unix_socket_directories": f'"{socket_dir}"',
        "unix_socket_permissions": "0700",
        "port": str(PORT),
        # The keeper limits the size of the log; Postgres's collector would be one more process and never deletes a file.
        "logging_collector": "off",
        "log_destination": "stderr",
    }
    everything = DEFAULTS | dict(settings) | fixed | DURABLE
    return [part for name, value in everything.items() for part in ("-c", f"{name}={value}")]


def fits_a_socket(directory: Path) -> bool:
    """Whether the path is short enough, and has no characters that Postgres or a driver would parse as a list."""
    return len(os.fsencode(directory)) <= LONGEST_SOCKET_DIR and not re.search(r"[,\"'\\\s]", str(directory))
