"""The ingress of the `ocw up` on this machine.

It has loaded everything that a command would have to load first. A short command that asks it takes half the time.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from openclaw_workers.cli.invocation import person_at_terminal
from openclaw_workers.config.locate import find_file, find_state_dir, working_dir
from openclaw_workers.errors import OpenClawError
from openclaw_workers.remote.address import ApiAddress
from openclaw_workers.state_dir import TOKEN_FILE, read_runtime, running_pid

if TYPE_CHECKING:
    from openclaw_workers.state_dir import Runtime

ELSEWHERE = ("REDIS_URL", "OPENCLAW_NAMESPACE")
"""Variables that may name another installation than that of `ocw up`."""


class GivenOptions(Protocol):
    """The options of a command that say which installation it means."""

    config_path: str | None
    state_dir: Path | None
    local_config: bool


def local_ingress(given: GivenOptions) -> ApiAddress | None:
    """The ingress that serves the installation of a command; None where the command must open Redis itself."""
    if given.local_config or any(os.environ.get(name) for name in ELSEWHERE):
        return None
    try:
        runtime, state_dir = _running(given)
        token = (state_dir / TOKEN_FILE).read_text(encoding="utf-8").strip()
    except (OpenClawError, OSError, UnicodeDecodeError):
        return None  # the command meets the same problem on its own way, and reports it
    if runtime is None or runtime.ingress_url is None:
        return None
    return ApiAddress(runtime.ingress_url, token, terminal=person_at_terminal())


def _running(given: GivenOptions) -> tuple[Runtime | None, Path]:
    """The `ocw up` of the state directory, if it has a Redis of its own and the same configuration file."""
    cwd = working_dir().absolute()
    state_dir = find_state_dir(given.state_dir, os.environ, cwd)
    source = find_file(given.config_path, os.environ, cwd=cwd, state_dir=state_dir)
    runtime = read_runtime(state_dir) if running_pid(state_dir) is not None else None
    # With another Redis or another file, the ingress may serve another configuration than the command means.
    if runtime is None or "redis" not in runtime.pids or runtime.source != source:
        return None, state_dir
    return runtime, state_dir
