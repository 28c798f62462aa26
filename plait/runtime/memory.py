"""How a process that runs nothing but services treats its memory."""

import gc


def collect_seldom() -> None:
    """For a process of plait's own, once everything is imported. A busy worker makes and drops tens of thousands of tasks a
    second, which the cyclic collector would walk through a hundred times in that second and find nothing (a fifth of the
    worker's time, measured)."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
