"""A call with a wrong value is refused at once, with an error of plait that says what is accepted and what was given."""

from typing import Any
from uuid import uuid4

import pytest

from plait import Handle, InvalidArguments, Plait

BAD_NAMES: list[Any] = [5, None, "", "x" * 500, "a\0b", b"x"]


@pytest.fixture
def handle() -> Handle[Any]:
    """Of an app that never connects."""
    return Plait("postgresql://nowhere.invalid/plait").handle(uuid4())


@pytest.mark.parametrize("name", BAD_NAMES)
async def test_a_wrong_name_of_a_stream_a_signal_or_an_update_is_refused(handle: Handle[Any], name: Any) -> None:
    for read in (handle.stream, handle.stream_items):
        with pytest.raises(InvalidArguments, match=r"a stream's name must be text of 1 to 100 characters, got "):
            read(name)
    with pytest.raises(InvalidArguments, match=r"a signal's name must be text of 1 to 180 characters, got "):
        await handle.signal(name)
    with pytest.raises(InvalidArguments, match=r"an update's name must be text of 1 to 170 characters, got "):
        await handle.update(name)


@pytest.mark.parametrize("after", [-1, 1.5, "1", True, None])
def test_a_stream_is_continued_after_a_number(handle: Handle[Any], after: Any) -> None:
    with pytest.raises(InvalidArguments, match="after must be a whole number of at least 0, got "):
        handle.stream("tokens", after=after)


@pytest.mark.parametrize("reason", [5, b"x", "a\0b"])
async def test_a_reason_is_text(handle: Handle[Any], reason: Any) -> None:
    for cancel in (handle.cancel, handle.cancel_tree):
        with pytest.raises(InvalidArguments, match="reason must be text without NUL, got "):
            await cancel(reason)
