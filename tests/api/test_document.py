"""S17: what is made from the OpenAPI document gets no answer of 5xx, and every answer is as the document says."""

import pytest

from plait.testing import TestDatabase

from .fuzzing import fuzz


def test_no_request_ends_in_a_server_error(database: TestDatabase) -> None:
    seen = fuzz(database, 500)
    assert sum(seen.values()) > 350
    assert {"200", "404", "422", "403"} <= set(seen)


@pytest.mark.full
def test_no_request_of_many_ends_in_a_server_error(database: TestDatabase) -> None:
    assert sum(fuzz(database, 5000).values()) > 4000
