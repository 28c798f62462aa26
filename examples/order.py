"""An order in steps: validate (A), process lines in parallel, notify and invoice in parallel (B + C), then close (D).

Prints:

    order 7: 3 lines, 60 cents, mail to ada, invoice 7-60
    each step ran once
"""

import asyncio
from collections import Counter
from dataclasses import dataclass

from plait import Plait, call, collect_all, fan_out, sub, values

app = Plait()
done: Counter[str] = Counter()


@dataclass
class Order:
    id: int
    customer: str
    cents: list[int]


@app.job
async def process_line(cents: int) -> int:
    return cents


@app.job
async def send_notification(customer: str) -> str:
    return f"mail to {customer}"


@app.job
async def generate_invoice(order_id: int, cents: int) -> str:
    return f"invoice {order_id}-{cents}"


async def validate(order: Order) -> Order:
    done["validate"] += 1
    return order


async def close(order_id: int) -> str:
    done["close"] += 1
    return f"order {order_id}"


@app.job
async def process_order(order: Order) -> str:
    valid = await call(validate, order)  # checkpointed: does not run again when the job resumes
    lines = values(await fan_out([sub(process_line, cents) for cents in valid.cents]))
    after = await fan_out(
        [sub(send_notification, valid.customer), sub("generate_invoice", order_id=valid.id, cents=sum(lines))],
        collect_all(),
    )
    closed = await call(close, valid.id)
    return f"{closed}: {len(lines)} lines, {sum(lines)} cents, {', '.join(values(after))}"


async def main() -> None:
    print(await (await process_order.enqueue(Order(7, "ada", [10, 20, 30]))).result(timeout="1m"))
    if set(done.values()) == {1}:
        print("each step ran once")


if __name__ == "__main__":
    asyncio.run(main())
