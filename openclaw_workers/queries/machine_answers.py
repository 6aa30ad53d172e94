"""The machine of an installation as a JSON answer: room on its disk, and its clock."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from openclaw_workers.clock import now_ms

if TYPE_CHECKING:
    from openclaw_workers.queries.installation import Installation


def machine_answer(installation: Installation) -> dict[str, Any]:
    """Of the machine that answers, which may be another one than those of the workers."""
    state_dir = installation.loaded.state_dir
    return {
        "ok": True,
        "stateDir": str(state_dir),
        "freeBytes": shutil.disk_usage(state_dir).free,
        # Both clocks set times that are compared, so a difference shows as wrong ages and budget days.
        "clockAheadMs": now_ms() - installation.stores.due.now_ms(),
    }
