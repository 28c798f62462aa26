"""The metrics of a scrape, as numbers."""

from prometheus_client.parser import text_string_to_metric_families

from plait.telemetry.exposition import Exposition, Source

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


class Scraped:
    def __init__(self, text: str) -> None:
        self.text = text
        self._samples: Samples = {
            (sample.name, tuple(sorted(sample.labels.items()))): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def __call__(self, name: str, **labels: str) -> float:
        return self._samples[name, tuple(sorted(labels.items()))]

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self._samples}

    def labels(self, name: str, label: str) -> set[str]:
        return {dict(labels)[label] for series, labels in self._samples if series == name}


async def scrape(*sources: Source) -> Scraped:
    text, _ = await Exposition(*sources).render()
    return Scraped(text.decode())
