"""S17: requests generated from the OpenAPI document get no 5xx, and every response matches the document."""

import pytest

from plait.testing import TestDatabase

from .fuzzing import fuzz

PARTS = 4


@pytest.mark.filterwarnings("ignore:Do not use the `random` module")  # used by the server, in this process
@pytest.mark.parametrize("part", range(PARTS))
def test_no_request_of_five_thousand_ends_in_a_server_error(database: TestDatabase, part: int) -> None:
    seen = fuzz(database, 1400, part=part, parts=PARTS)
    assert sum(seen.values()) >= 1250
    assert {"200", "404", "422", "403"} <= set(seen)


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_no_request_of_fifty_thousand_ends_in_a_server_error(database: TestDatabase) -> None:
    assert sum(fuzz(database, 50_000, seed=1).values()) >= 45_000
