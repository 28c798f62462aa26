"""A deployment of the API: a real process that a test stops, starts and replaces with another build, always on the same port."""

import asyncio
import re
import shutil
import sys
from pathlib import Path

import httpx

from plait.api.site import BUILT
from plait.runtime.listening import bound

from ..waiting import eventually


class Deployment:
    def __init__(self, url: str, directory: Path) -> None:
        self._url = url
        self._directory = directory
        self._built = BUILT
        self._builds = 1
        self._process: asyncio.subprocess.Process | None = None
        with bound("127.0.0.1", 0) as taken:
            self._port: int = taken.getsockname()[1]
        self.site = f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.ui.api_process", self._url, str(self._port), str(self._built),
            stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        await eventually(self._answers, what="the API's answer")

    async def stop(self) -> None:
        """Stop the process if it is running."""
        if self._process is not None:
            self._process.terminate()
            await self._process.wait()
            self._process = None

    async def redeploy(self) -> None:
        """Replace the process with a build in which all files have other names."""
        await self.stop()
        self._builds += 1
        self._built = renamed(BUILT, self._directory / f"build-{self._builds}", mark=f"-{self._builds}")
        await self.start()

    async def build(self) -> str:
        async with httpx.AsyncClient(base_url=self.site) as client:
            return (await client.get("/healthz")).headers["plait-build"]

    async def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.returncode is None, "the API process exited"
        try:
            return await self.build() != ""
        except httpx.TransportError:
            return False


def renamed(built: Path, target: Path, *, mark: str) -> Path:
    """Copy the web UI's files and rename each asset, as after a change of all sources."""
    shutil.copytree(built, target)
    assets = sorted((target / "assets").iterdir())
    names = {path.name: f"{path.stem}{mark}{path.suffix}" for path in assets}
    mentioned = re.compile("|".join(map(re.escape, names)))
    for path in [target / "index.html", *assets]:
        if path.suffix in {".html", ".js", ".css"}:
            path.write_text(mentioned.sub(lambda found: names[found[0]], path.read_text()))
    for path in assets:
        path.rename(path.with_name(names[path.name]))
    return target
