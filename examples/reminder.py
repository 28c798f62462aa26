"""A durable sleep of one hour in a test: the test kit advances the database's clock.

Prints:

    waiting
    waiting
    reminded
"""

import asyncio

from plait import Plait, sleep
from plait.testing import Kit, TestServer

app = Plait()


@app.job
async def remind() -> str:
    await sleep("1h")  # the job is suspended and holds no worker and no connection
    return "reminded"


async def main() -> None:
    server = await asyncio.to_thread(TestServer)
    database = await server.create_database()
    kit = Kit(app, database)
    kit.enter()
    handle = await remind.enqueue()
    await kit.run_until_idle()
    print(await handle.status())
    await kit.advance(minutes=59)
    await kit.run_until_idle()
    print(await handle.status())
    await kit.advance(minutes=1)
    await kit.run_until_idle()
    print(await handle.result(timeout="1m"))
    await kit.exit()
    await server.drop_database(database)


if __name__ == "__main__":
    asyncio.run(main())
