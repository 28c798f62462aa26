"""Human approval by a signal, with a timeout. The job holds no worker while it waits.

Prints:

    paid 250: approved by ada
    nobody approved 900
"""

import asyncio

from plait import Plait, SignalTimeout, wait_for_signal

app = Plait()


@app.job
async def pay(cents: int, patience: str = "30d") -> str:
    try:
        approval = await wait_for_signal("approved", timeout=patience, type=dict[str, str])
    except SignalTimeout:
        return f"nobody approved {cents}"
    return f"paid {cents}: approved by {approval['by']}"


async def main() -> None:
    handle = await pay.enqueue(250)
    # A signal is stored, so you can send it before the job waits. Or: plait jobs signal ID approved '{"by": "ada"}'
    await handle.signal("approved", {"by": "ada"})
    print(await handle.result(timeout="1m"))
    print(await (await pay.enqueue(900, patience="100ms")).result(timeout="1m"))


if __name__ == "__main__":
    asyncio.run(main())
