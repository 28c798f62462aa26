"""The examples of docs/reference/python.md, by section or function. A test runs them in the order of the page."""

EXAMPLES = {
    "Application": """
from plait import Backoff, Plait, Rate

app = Plait()
""",
    "Plait.job": """
@app.job(queue="images", retries=3, timeout="5m", backoff=Backoff(base="2s"), rate=Rate(100, "1m"))
async def resize(path: str, width: int = 200) -> str:
    return f"{path}, {width} pixels wide"
""",
    "Plait.schedule": """
@app.schedule("0 2 * * *", timezone="Europe/Berlin", overlap="skip")
async def nightly_report() -> None: ...
""",
    "Plait.on": """
@app.on("order.paid", payload={"order": "{{event.order}}"})
async def ship(order: int) -> None: ...
""",
    "Plait.emit": """
await app.emit("order.paid", {"order": 17})
""",
    "Plait.handle": """
job_id = (await resize.enqueue("a.png")).id
again = app.handle(job_id, definition="resize")  # in another process, for example
assert await again.result(timeout="1m") == "a.png, 200 pixels wide"
""",
    "Plait.close": """
async with Plait() as reports:  # connects; closes at the end of the block
    await reports.emit("report.requested")
""",
    "Job.options": """
from datetime import UTC, datetime, timedelta

tomorrow = datetime.now(UTC) + timedelta(days=1)
later = await resize.options(scheduled_for=tomorrow, priority=10, dedupe_key="c.png").enqueue("c.png")
await later.cancel()
""",
    "Job.enqueue": """
handle = await resize.enqueue("b.png", width=100)
""",
    "Job.enqueue_many": """
handles = await resize.enqueue_many([("d.png", 10), {"path": "e.png"}, "f.png"])
""",
    "Handle.result": """
print(await handle.result(timeout="1m"))  # b.png, 100 pixels wide
""",
    "In a handler": """
from plait import PermanentError, current

@app.job
async def import_rows(rows: list[int]) -> int:
    for number, row in enumerate(rows, start=1):
        if row < 0:
            raise PermanentError(f"row {number} is negative")
        current().progress(number, len(rows))
    return len(rows)
""",
    "Outcomes that a handler raises": """
from plait import RetryLater, Skip

@app.job(retries=2)
async def fetch(url: str) -> str:
    if not url.startswith("https:"):
        raise PermanentError(f"{url} is not an https URL")  # failed, without retries
    if url.endswith(".tmp"):
        raise Skip("nothing to do")  # skipped
    if current().attempt == 1:
        raise RetryLater("1s", "the server is busy")  # retried after one second
    return "fetched"

fetched = await fetch.enqueue("https://shop.example/a.csv")
assert await fetched.result(timeout="1m") == "fetched"
""",
    "Durable functions": """
from plait import call, sleep, wait_for_signal

async def charge(cents: int) -> str:
    return f"charged {cents}"

@app.job
async def order(cents: int) -> str:
    receipt = await call(charge, cents, name="charge the card", retries=3)  # runs once, also after a crash
    await sleep(0.1)
    packed = await wait_for_signal("packed", timeout="1h")
    return f"{receipt}, packed by {packed['by']}"
""",
    "Handle.signal": """
waiting = await resize.options(delay="1h").enqueue("g.png")
await waiting.signal("packed", {"by": "anna"})
waiting.signal_sync("packed", {"by": "anna"}, id="delivery 5")  # the sync form
await waiting.cancel()
""",
    "wait_for_signal": """
ordered = await order.enqueue(4200)
await ordered.signal("packed", {"by": "anna"})
assert await ordered.result(timeout="1m") == "charged 4200, packed by anna"
""",
    "Fan-out and fan-in": """
from plait import fan_out, sub, values

@app.job
async def thumbnails(path: str) -> list[str]:
    results = await fan_out([sub(resize, path, width) for width in (50, 100, 200)])
    return values(results)

made = await thumbnails.enqueue("g.png")
assert len(await made.result(timeout="1m")) == 3
""",
    "Child jobs and follow-ups": """
from plait import after, nursery, spawn

@app.job
async def publish(pages: list[str]) -> int:
    async with nursery() as children:
        for page in pages:
            await children.spawn(resize, page)
    await after(import_rows, [1, 2])  # enqueued when this job has succeeded
    return len(children.results)

published = await publish.enqueue(["h.png", "i.png"])
assert await published.result(timeout="1m") == 2
""",
}
