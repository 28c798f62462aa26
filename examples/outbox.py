"""An order and its job commit together, or neither does.

    DATABASE_URL=postgresql://… python examples/outbox.py     # a login with the role plait_client, and a table `orders`
    plait worker examples/outbox.py                           # in another terminal

Prints:

    rolled back: no order, no job
    committed: receipt for 12.50
"""

import asyncio
import os

import asyncpg

from plait import Plait

app = Plait()


@app.job(retries=8)
async def send_receipt(cents: int) -> str:
    return f"receipt for {cents / 100:.2f}"


async def order(conn: asyncpg.Connection, cents: int, *, paid: bool) -> str:
    async with conn.transaction():
        await conn.execute("insert into orders (cents) values ($1)", cents)
        receipt = await send_receipt.options(conn=conn).enqueue(cents)
        if not paid:
            raise ValueError("not paid: this rolls back the order and the job")
    return await receipt.result(timeout="1m")


async def main() -> None:
    conn = await asyncpg.connect(os.environ["DATABASE_URL"])
    try:
        await order(conn, 999, paid=False)
    except ValueError:
        print("rolled back: no order, no job")
    print("committed:", await order(conn, 1250, paid=True))
    await conn.close()


if __name__ == "__main__":
    asyncio.run(main())
