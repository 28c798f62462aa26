"""Memory settings of a process that runs only services."""

import gc


def collect_seldom() -> None:
    """Run the garbage collector rarely. Call this in plait's own processes, after all imports. A busy worker creates and drops tens of
    thousands of tasks per second; the cyclic garbage collector would scan them a hundred times per second and find nothing. In a
    benchmark, these scans took a fifth of the worker's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
