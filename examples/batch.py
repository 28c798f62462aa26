"""A parallel batch with aggregation. Many sub-jobs lead to one result, and a few of them may fail.

Prints:

    9 of 10 pages fetched, 45 words in all
    page 3: no such page
"""

import asyncio

from plait import PermanentError, Plait, partition, threshold

app = Plait()


@app.job
async def fetch(page: int) -> int:
    if page == 3:
        raise PermanentError("no such page")
    return 5


@app.job
async def count_words(pages: int) -> tuple[int, int, list[str]]:
    # The job is suspended and holds no worker. At least 90 % of the sub-jobs must succeed.
    results = await fetch.map(range(pages), threshold(0.9))
    words, failures = partition(results)
    return len(words), sum(words), [f"page {failure.index}: {failure.error}" for failure in failures]


async def main() -> None:
    fetched, words, failures = await (await count_words.enqueue(10)).result(timeout="1m")
    print(f"{fetched} of 10 pages fetched, {words} words in all")
    print(*failures, sep="\n")


if __name__ == "__main__":
    asyncio.run(main())
