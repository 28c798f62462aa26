"""The jobs of `plait demo`: an office sends invoices, a studio makes thumbnails. They are small, but do real work.

This is an ordinary application: `plait dev plait.cli.demo_jobs` runs it.
"""

import asyncio
import hashlib
import time
from decimal import Decimal

from plait import Backoff, PermanentError, Plait, Skip, current

SOON = Backoff(base=0.2, factor=2, jitter=0.1)
SIDE = 64

app = Plait()


@app.job(retries=2, backoff=SOON)
async def invoice(number: int, lines: list[tuple[int, Decimal]]) -> str:
    """Add up an invoice."""
    if not lines:
        raise PermanentError(f"invoice {number} has no lines")
    await asyncio.sleep(0.1)  # simulates a slow external service
    net = sum((count * price for count, price in lines), Decimal())
    return f"{net * Decimal('1.19'):.2f} EUR"


@app.job(retries=4, backoff=SOON)
async def deliver(number: int) -> str:
    """Mail an invoice. The mail server rejects some invoices once and some twice."""
    await asyncio.sleep(0.02)
    if current().failed_attempts < number % 3:
        raise ConnectionError(f"the mail server is busy, attempt {current().failed_attempts + 1}")
    return f"invoice {number} is on its way"


@app.job(retries=2, backoff=SOON)
async def post_ledger(month: str) -> None:
    """Post a month to the ledger, which is always down."""
    raise ConnectionRefusedError(f"the ledger is not reachable: {month} was not posted")


@app.job
async def remind(number: int) -> str:
    return f"reminder of invoice {number} sent"


@app.job(queue="pictures")
def thumbnail(picture: str, side: int) -> str:
    """Paint a picture, scale it down, and return its hash. A plain function, so it runs in a thread."""
    if picture.startswith("empty"):
        raise Skip(f"{picture} has no pixels")
    time.sleep(0.03)  # simulates disk I/O
    seed = hashlib.sha256(picture.encode()).digest()
    pixels = [[(seed[x % 32] * y + seed[y % 32] * x) % 256 for x in range(SIDE)] for y in range(SIDE)]
    step = SIDE // side
    scaled = bytes(
        sum(pixels[y * step + v][x * step + u] for v in range(step) for u in range(step)) // step**2
        for y in range(side)
        for x in range(side)
    )
    return hashlib.sha256(scaled).hexdigest()[:12]


@app.job(queue="pictures", timeout="20s")
async def export_archive(pictures: int) -> int:
    """A slow job. The demo cancels it."""
    for done in range(pictures):
        current().progress(done, pictures, "packing")
        await asyncio.sleep(0.1)
    return pictures


@app.job(queue="pictures")
async def refresh_gallery() -> str:
    await asyncio.sleep(0.5)
    return "the gallery is fresh"
