"""Retries, failures, skipped jobs and dead letters: the exception that a handler raises decides the outcome.

Prints:

    fetched on attempt 3
    failed: JobFailed, permanent
    skipped: JobSkipped
    gave up: JobDeadLettered, attempts_exhausted
"""

import asyncio

from plait import Backoff, JobFailed, PermanentError, Plait, RetryLater, Skip, Snooze, current

app = Plait()


@app.job(retries=1, backoff=Backoff(base=0.1))
async def fetch(page: str) -> str:
    match page:
        case "gone":
            raise PermanentError("404: a retry would not help")
        case "unchanged":
            raise Skip("304: nothing to do")
        case "broken":
            raise OSError("500: any other error is retried with backoff")
        case "busy" if current().attempt == 1:
            raise Snooze(0.1, "the server is busy: run again later, without using an attempt")
        case "busy" if current().attempt == 2:
            raise RetryLater(0.1, "429: retry later, using an attempt")
    return f"fetched on attempt {current().attempt}"


async def main() -> None:
    print(await (await fetch.enqueue("busy")).result(timeout="1m"))
    for page, label in (("gone", "failed"), ("unchanged", "skipped"), ("broken", "gave up")):
        try:
            await (await fetch.enqueue(page)).result(timeout="1m")
        except JobFailed as error:
            print(f"{label}: {type(error).__name__}" + (f", {error.reason}" if error.reason else ""))


if __name__ == "__main__":
    asyncio.run(main())
