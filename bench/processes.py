"""Resources of a process and its children, from /proc."""

import os
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Machine:
    cpu: str
    cores: int
    memory_gb: float
    kernel: str


def machine() -> Machine:
    model = next(
        (
            line.split(":", 1)[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        "unknown",
    )
    memory = os.sysconf("SC_PHYS_PAGES") * PAGE / 2**30
    return Machine(cpu=model, cores=len(os.sched_getaffinity(0)), memory_gb=round(memory, 1), kernel=os.uname().release)


def cpu_s(pid: int) -> float:
    """CPU seconds of a process and all its descendants, including descendants that have ended."""
    return sum(_used(member, reaped=True) for member in family(pid))


def rss_mb(pid: int) -> float:
    """Memory of a process and all its descendants."""
    return sum(_resident(member) for member in family(pid)) / 2**20


def family(pid: int) -> list[int]:
    found = [pid]
    for member in found:
        try:
            children = "".join(path.read_text() for path in Path(f"/proc/{member}/task").glob("*/children"))
        except OSError:
            continue  # the process has ended meanwhile
        found.extend(int(child) for child in children.split())
    return found


def _used(pid: int, *, reaped: bool) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(value) for value in fields[11 : 15 if reaped else 13]) / TICKS


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
    except OSError:
        return 0
