"""Python imports this at start in a worker that has this directory on its path: it goes by the clock of the test."""

from __future__ import annotations

import os
import runpy
from pathlib import Path

from openclaw_workers.store import client as connection

_clock = runpy.run_path(str(Path(__file__).parents[1] / "clock.py"))
connection.script_source = _clock["shifted_source"](connection.script_source)
connection.connect = _clock["shifted_connect"](connection.connect, Path(os.environ["OCW_CLOCK"]))
