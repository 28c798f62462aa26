"""The API as a service: what it refuses to start on, and that it lets go of what it holds."""

import pytest

from plait.api.service import Api
from plait.model.errors import NotGranted
from plait.runtime.listening import AddressTaken
from plait.runtime.service import Stop
from plait.sdk.app import Plait
from plait.testing import TestDatabase

from ..security.logins import Logins


@pytest.mark.parametrize("roles", [["plait_client"], ["plait_admin"], ["plait_worker"]])
async def test_a_login_that_could_not_serve_every_route_is_refused(database: TestDatabase, roles: list[str]) -> None:
    logins = Logins(database)
    app = Plait(database.url_for(await logins.create(*roles)))
    try:
        with pytest.raises(NotGranted, match="plait_admin and plait_worker"):
            await Api(app, port=0).run(Stop())
    finally:
        await app.close()
        await logins.drop()


async def test_an_address_that_is_taken_is_told_or_passed_by(database: TestDatabase) -> None:
    app = Plait(database.url)
    first = Api(app, port=0)
    first.listen()
    port = int(first.url.rpartition(":")[2])
    with pytest.raises(AddressTaken):
        Api(app, port=port).listen()
    other = Api(app, port=port, elsewhere=True)
    other.listen()
    assert other.url != first.url
    for api in (first, other):
        api.close()
