"""One day of schedules in a test: the test kit advances the database's clock.

Prints:

    24 hourly jobs
    1 nightly job, at 2030-01-02T07:00:00+00:00
    1 job for order 17
"""

import asyncio

from plait import Plait
from plait.testing import Kit, TestServer

app = Plait()
ran: list[str] = []


@app.schedule(every="1h")
async def hourly() -> None:
    ran.append("hour")


@app.schedule("0 2 * * *", timezone="America/New_York", payload={"at": "{{schedule.instant}}"})
@app.job
async def nightly(at: str) -> None:
    ran.append(f"night {at}")


@app.on("order.paid", payload={"order": "{{event.id}}"})
@app.job
async def thank(order: int) -> None:
    ran.append(f"order {order}")


async def main() -> None:
    server = await asyncio.to_thread(TestServer)
    database = await server.create_database()
    kit = Kit(app, database)
    kit.enter()
    for _ in range(24):
        await kit.advance(hours=1)
        await kit.run_until_idle()
    print(ran.count("hour"), "hourly jobs")
    nights = [one.split()[1] for one in ran if one.startswith("night")]
    print(f"{len(nights)} nightly job, at {nights[0]}")
    await app.emit("order.paid", {"id": 17})
    await kit.run_until_idle()
    orders = [one.split()[1] for one in ran if one.startswith("order")]
    print(f"{len(orders)} job for order {orders[0]}")
    await kit.exit()
    await server.drop_database(database)


if __name__ == "__main__":
    asyncio.run(main())
