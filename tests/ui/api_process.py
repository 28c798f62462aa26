"""`python -m tests.ui.api_process URL PORT DIRECTORY`: the API in a separate process, with the web UI's files from a directory."""

import asyncio
import sys
from pathlib import Path

from plait.api import site
from plait.api.service import Api
from plait.runtime.logging import configure
from plait.runtime.service import Signals, Stop, run_services
from plait.runtime.settings import Settings
from plait.sdk.app import Plait


async def main(url: str, port: int, built: Path) -> int:
    configure(form="json")
    site.BUILT = built  # type: ignore[misc]  # another deployment's files
    app = Plait(url, settings=Settings(api_rate=0, grace=1))
    stop = Stop()
    with Signals(stop) as signals:
        await run_services([Api(app, port=port)], stop)
    await app.close()
    return signals.exit_code


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))))
