"""By what model calls are summed: the agent, the model, the day, or whom the tree of sessions belongs to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openclaw_workers.domain.session_key import Kind, parse_key
from openclaw_workers.errors import BadInput

if TYPE_CHECKING:
    from openclaw_workers.domain.ids import SessionKey
    from openclaw_workers.domain.ledger import Dimension, ModelCall
    from openclaw_workers.store.reader import Reader

UNKNOWN = "unknown"
_WITH_PEER = (Kind.DM, Kind.GROUP, Kind.CHANNEL)


class UsageNames:
    def __init__(self, reader: Reader, by: Dimension) -> None:
        self._reader = reader
        self._by = by
        self._known: dict[SessionKey, str] = {}

    def name_of(self, call: ModelCall) -> str:
        if self._by == "model":
            return f"{call.provider}/{call.model}"
        if self._by not in ("peer", "channel"):
            return str(getattr(call, self._by))
        # One tree has many calls, and each answer costs a read.
        if call.tree not in self._known:
            self._known[call.tree] = self._party(call.tree)
        return self._known[call.tree]

    def _party(self, root: SessionKey) -> str:
        """The channel or peer of a root session: by its key, or else where it was last spoken to."""
        try:
            parsed = parse_key(root)
        # The ledger may hold keys of an older form, which must not hide the rest.
        except BadInput:
            return UNKNOWN
        row = self._reader.row(root)
        if self._by == "channel":
            return parsed.channel or row.get("lastChannel") or UNKNOWN
        return (parsed.peer if parsed.kind in _WITH_PEER else "") or row.get("lastTo") or UNKNOWN
