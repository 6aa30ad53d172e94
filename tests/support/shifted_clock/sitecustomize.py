"""Python imports this at start in a worker with this directory on its path. The worker then uses the test's clock."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

from openclaw_workers.store import client, scripts

_clock = runpy.run_path(str(Path(__file__).parents[1] / "clock.py"))
scripts.script_source = _clock["shifted_source"](scripts.script_source)
client.connect = _clock["shifted_connect"](client.connect, Path(os.environ["OCW_CLOCK"]))
