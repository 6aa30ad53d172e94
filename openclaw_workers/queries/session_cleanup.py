"""Cleaning up sessions, as a JSON answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openclaw_workers.engine.client_graph import maintenance_of
from openclaw_workers.views.maintenance import finding_json

if TYPE_CHECKING:
    from openclaw_workers.engine.archives.writer import ArchiveWriter
    from openclaw_workers.engine.wake import Waker
    from openclaw_workers.queries.installation import Installation


def cleanup_answer(
    installation: Installation, waker: Waker, archives: ArchiveWriter, *, is_dry: bool
) -> dict[str, Any]:
    """Roll over expired sessions and remove unused and surplus ones; in a dry run, what would be done."""
    maintenance = maintenance_of(installation.stores, waker, archives)
    found = [finding_json(each) for each in maintenance.clean_up(is_dry_run=is_dry)]
    return {"ok": True, "dryRun": is_dry, "sessions": found}
