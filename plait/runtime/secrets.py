"""Secrets of a process: PLAIT_SECRET_<NAME> in the environment, or the file <NAME> in PLAIT_SECRETS_DIR. No other variables or files are
accessible (T123), and no secret is stored in the database."""

import os
import re
from pathlib import Path
from typing import Final

from plait.model import redaction
from plait.model.errors import PlaitError

PREFIX: Final = "PLAIT_SECRET_"
NAME: Final = re.compile(r"[A-Z][A-Z0-9_]{0,99}")
LARGEST: Final = 65_536


class SecretMissing(PlaitError):
    """The secret is not set in this process. Set PLAIT_SECRET_<NAME>, or put a file of that name into PLAIT_SECRETS_DIR."""


def read_secret(name: str, directory: Path | None = None) -> str:
    """A secret by its name: from its file if the file exists, otherwise from the environment."""
    if not NAME.fullmatch(name):
        raise SecretMissing("a secret's name must be capital letters, digits and _")
    value = os.environ.get(PREFIX + name)
    if directory is not None:
        try:
            with (directory / name).open("rb") as file:
                value = file.read(LARGEST).decode().rstrip("\r\n")
        except FileNotFoundError:
            pass
        except (OSError, UnicodeDecodeError) as error:
            raise SecretMissing(f"the file of the secret {name} cannot be read: {type(error).__name__}") from None
    if not value:
        raise SecretMissing(f"the secret {name} is not set in this process: set {PREFIX}{name}")
    redaction.learn([value])
    return value


def learn_environment() -> None:
    """Register the environment's secrets for redaction, however a handler uses them."""
    redaction.learn(value for name, value in os.environ.items() if name.startswith(PREFIX))
