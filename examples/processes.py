"""A handler in a separate process: a timeout kills the process, and the worker continues.

Prints:

    the sum is 499500
    timeout: timed out after 0.5 s
"""

import asyncio

from plait import JobFailed, Plait

app = Plait()


@app.job(isolation="process")
def add_up(numbers: int) -> int:
    return sum(range(numbers))


@app.job(isolation="process", timeout=0.5, retries=0)
def spin() -> None:
    while True:
        pass


async def main() -> None:
    print("the sum is", await (await add_up.enqueue(1000)).result(timeout="1m"))
    try:
        await (await spin.enqueue()).result(timeout="1m")
    except JobFailed as error:
        print(f"{error.reason}: {str(error).partition('attempts: ')[2]}")


if __name__ == "__main__":
    asyncio.run(main())
