"""Metrics in the Prometheus format, from all sources of this process."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any, Protocol, cast

from prometheus_client import CollectorRegistry, Metric, PlatformCollector, ProcessCollector
from prometheus_client.exposition import choose_encoder


class Source(Protocol):
    def families(self) -> AsyncIterator[Metric]:
        """The current metrics of this source."""


class Exposition:
    def __init__(self, *sources: Source) -> None:
        self._sources = list(sources)
        self._process = [ProcessCollector(registry=None), PlatformCollector(registry=None)]
        self._one_at_a_time = asyncio.Lock()

    def add(self, source: Source) -> None:
        self._sources.append(source)

    async def render(self, accept: str = "") -> tuple[bytes, str]:
        """The text and its content type, in the format that the scraper accepts."""
        encode, content_type = choose_encoder(accept)
        async with self._one_at_a_time:  # a source may depend on its last report
            families = [family async for family in self._families()]
        return encode(cast("CollectorRegistry", _Collected(families))), content_type

    async def _families(self) -> AsyncIterator[Metric]:
        for source in self._sources:
            async for family in source.families():
                yield family
        for collector in self._process:
            for family in collector.collect():
                yield family


class _Collected:
    """The part of a registry that the encoders use."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = families

    def collect(self) -> Iterable[Any]:
        return self._families
