"""The machine of an installation as a JSON answer: room on its disk, and its clock."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from openclaw_workers.clock import now_ms
from openclaw_workers.store.client import store_errors

if TYPE_CHECKING:
    from openclaw_workers.queries.installation import Installation


def machine_answer(place: Installation) -> dict[str, Any]:
    """Of the machine that answers, which may be another one than those of the workers."""
    state_dir = place.loaded.state_dir
    with store_errors():
        seconds, microseconds = place.stores.redis.time()
    redis_ms = int(seconds) * 1000 + int(microseconds) // 1000
    return {
        "ok": True,
        "stateDir": str(state_dir),
        "freeBytes": shutil.disk_usage(state_dir).free,
        "clockAheadMs": now_ms() - redis_ms,
    }
