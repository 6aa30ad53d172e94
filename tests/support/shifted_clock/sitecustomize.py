"""Python imports this at start in a worker with this directory on its path. The worker then uses the test's clock."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

from openclaw_workers.store import client

_clock = runpy.run_path(str(Path(__file__).parents[1] / "clock.py"))
client.script_source = _clock["shifted_source"](client.script_source)
client.connect = _clock["shifted_connect"](client.connect, Path(os.environ["OCW_CLOCK"]))
