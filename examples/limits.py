"""A per-key concurrency limit: one job per customer at a time. Customers do not wait for each other.

Prints:

    at most 1 job per customer at once, 3 customers at once
"""

import asyncio
from collections import Counter

from plait import Plait

app = Plait()

running: Counter[str] = Counter()
most_of_one = most_customers = 0


@app.job(key="customer", key_max_running=1)
async def sync(customer: str, _page: int) -> None:
    global most_of_one, most_customers  # noqa: PLW0603 - the example measures its own concurrency
    running[customer] += 1
    most_of_one = max(most_of_one, running[customer])
    most_customers = max(most_customers, sum(count > 0 for count in running.values()))
    await asyncio.sleep(0.1)
    running[customer] -= 1


async def main() -> None:
    handles = await sync.enqueue_many([(customer, page) for customer in "abc" for page in range(3)])
    for handle in handles:
        await handle.result(timeout="1m")
    print(f"at most {most_of_one} job per customer at once, {most_customers} customers at once")


if __name__ == "__main__":
    asyncio.run(main())
