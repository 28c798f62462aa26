"""The cluster over HTTP: its nodes, its leader, and followers that redirect to the leader."""

from plait.model.roles import Role
from plait.model.states import Status

from ..access.logins import connected
from ..harness import Harness
from ..nodes.cluster import Cluster
from .api_client import ApiClient


async def _cluster(harness: Harness, *, urls: bool = True) -> Cluster:
    cluster = Cluster(harness)
    await cluster.start("a", "b", "c")
    if urls:
        async with connected(harness.database.admin_url) as admin:
            await admin.execute("update plait.nodes set url = 'http://' || name || '.example:8717'")
    return cluster


async def test_the_cluster_tells_its_nodes_and_who_leads(api: ApiClient, harness: Harness) -> None:
    await _cluster(harness)
    admin = await api.acting(Role.SUPER_ADMIN)
    told = await admin.ok("GET", "/cluster")
    assert [(node["name"], node["state"], node["leads"]) for node in told["nodes"]] == [
        ("a", "active", True), ("b", "active", False), ("c", "active", False)
    ]  # fmt: skip
    assert (told["leader"]["node"], told["leader"]["url"]) == ("a", "http://a.example:8717")
    await harness.advance(minutes=5)
    told = await admin.ok("GET", "/cluster")
    assert told["leader"] is None
    assert {node["state"] for node in told["nodes"]} == {"lost"}


async def test_what_each_node_made_of_a_job_is_told_to_its_tenant_only(api: ApiClient, harness: Harness) -> None:
    cluster = await _cluster(harness)
    job = await cluster.ask()
    await cluster.done("a")
    nodes = (await (await api.acting(Role.VIEWER)).ok("GET", f"/jobs/{job}/nodes"))["items"]
    assert [(node["node"], node["status"], node["result"]) for node in nodes] == [
        ("a", Status.SUCCEEDED, "a"), ("b", Status.QUEUED, None), ("c", Status.QUEUED, None)
    ]  # fmt: skip
    assert (await (await api.acting(Role.VIEWER, tenant="other")).get(f"/jobs/{job}/nodes")).status_code == 404


async def test_a_follower_sends_who_asks_for_a_node_job_to_the_leader(api: ApiClient, harness: Harness) -> None:
    cluster = await _cluster(harness)
    await cluster.ask()
    operator = await api.acting(Role.OPERATOR)
    api.app.state.holder = "b"
    refused = await operator.post("/jobs", {"definition_key": "job"})
    assert (refused.status_code, refused.json()["type"]) == (421, "urn:plait:problem:not-leader")
    assert refused.json()["leader_url"] == "http://a.example:8717"
    assert len(await harness.store.jobs.list_jobs(definition="job")) == 1  # nothing was enqueued
    await operator.ok("POST", "/jobs", {"definition_key": "job/node"})  # a follower accepts all jobs except node jobs
    api.app.state.holder = "a"
    await operator.ok("POST", "/jobs", {"definition_key": "job"})


async def test_whose_leader_has_no_address_takes_node_jobs_itself(api: ApiClient, harness: Harness) -> None:
    cluster = await _cluster(harness, urls=False)
    await cluster.ask()
    operator = await api.acting(Role.OPERATOR)
    await operator.ok("POST", "/jobs", {"definition_key": "job"})
    await harness.advance(minutes=5)  # and while there is no leader
    await operator.ok("POST", "/jobs", {"definition_key": "job"})


async def test_an_api_that_is_no_nodes_takes_node_jobs_whoever_leads(api: ApiClient, harness: Harness) -> None:
    """A worker with PLAIT_API_URL is the leader, and `plait api` runs in a separate process."""
    cluster = await _cluster(harness)
    await cluster.ask()
    operator = await api.acting(Role.OPERATOR)
    await operator.ok("POST", "/jobs", {"definition_key": "job"})
    for own, status in (("http://a.example:8717/", 201), ("http://b.example:8717", 421)):
        api.app.state.settings = api.app.state.settings.model_copy(update={"api_url": own})
        assert (await operator.post("/jobs", {"definition_key": "job"})).status_code == status
