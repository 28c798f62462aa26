"""Ids that the caller makes, so that an enqueue whose answer was lost can be sent again."""

import secrets
import time
import uuid


def new_id() -> str:
    """A UUIDv7."""
    number = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    number = number & ~(0xF << 76) | 0x7 << 76
    number = number & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=number))
