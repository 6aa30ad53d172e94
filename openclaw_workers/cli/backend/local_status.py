"""The state of the whole installation."""

from __future__ import annotations

from openclaw_workers.cli.backend.opened import LocalPart
from openclaw_workers.cli.backend.protocol import Json


class LocalStatus(LocalPart):
    def status(self) -> Json:
        from openclaw_workers.queries.status_answers import status_fields

        return {"ok": True, **status_fields(self._cli, self._cli.trees.undelivered())}
