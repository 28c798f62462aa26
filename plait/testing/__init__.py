"""The test kit for applications: a real Postgres, a clock that tests set, and a worker that runs until it is idle.

The pytest plugin (`plugin.py`) is loaded when plait is installed. plait's own tests use the same kit. `replay.py` replays the stored history of a
durable function (`plait.job_history`) against new code.
"""

from plait.testing.clock import FakeClock
from plait.testing.databases import TestDatabase, TestServer
from plait.testing.kit import Kit
from plait.testing.replay import replay

__all__ = ["FakeClock", "Kit", "TestDatabase", "TestServer", "replay"]
