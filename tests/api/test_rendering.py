"""A trigger's template, tried before it is anybody's."""

from ..world import World
from .calling import Calling


async def test_a_template_is_filled_in_and_checked_before_it_is_a_trigger(api: Calling, world: World) -> None:
    await world.define("add", schema={"type": "object", "properties": {"x": {"type": "integer"}}})
    await world.tenant("acme", name="Acme")
    caller = await api.acting("operator", "acme")

    async def tried(template: object, **more: object) -> tuple[object, str | None]:
        body = {"definition_key": "add", "payload_template": template, **more}
        said = await caller.ok("POST", "/jobs/triggers/render", body)
        return said["payload"], said["error"]

    assert await tried({"x": "{{event.n}}"}, event_name="e", data={"n": 3}) == ({"x": 3}, None)
    assert await tried({"t": "{{tenant.slug}}"}, event_name="e") == ({"t": "acme"}, None)
    assert (await tried({"at": "{{schedule.instant}}"}))[1] is None
    _, missing = await tried({"x": "{{event.n}}"}, event_name="e")
    assert missing is not None
    assert "there is no 'n'" in missing
    _, unfit = await tried({"x": "three"}, event_name="e")
    assert unfit is not None
    assert "does not fit the schema" in unfit
    assert await world.sql("select count(*) from plait.jobs") == 0
    refused = await caller.post("/jobs/triggers/render", json={"definition_key": "nothing"})
    assert refused.status_code == 422
    viewer = await api.acting("viewer", "acme")
    assert (await viewer.post("/jobs/triggers/render", json={"definition_key": "add"})).status_code == 403
