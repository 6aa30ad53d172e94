"""Sessions as one running turn may see and use them: what the session tools reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from openclaw_workers.domain.tree import AnnounceMode
from openclaw_workers.engine.sessions.send import SessionSender
from openclaw_workers.engine.sessions.subagents import SubagentControl
from openclaw_workers.engine.sessions.views import Views
from openclaw_workers.engine.sessions.visibility import Visibility
from openclaw_workers.engine.tree.child import Parent
from openclaw_workers.engine.tree.spawn import Spawner
from openclaw_workers.store.turn_records import Taken
from openclaw_workers.tools.sessions.inputs import HistoryInput, ListInput, SendInput, StatusInput, SubagentsInput
from openclaw_workers.tools.sessions.port import SpawnCall


@dataclass(frozen=True)
class TurnSessions:
    """Implements tools.tree.SessionPort for one turn."""

    spawner: Spawner
    taken: Taken

    @cached_property
    def parent(self) -> Parent:
        """Found out when first asked for: most turns have nothing to do with other sessions."""
        return self.spawner.parent(self.taken)

    def spawn(self, calls: Sequence[SpawnCall]) -> list[str]:
        return self.spawner.spawn(self.parent, calls)

    def list_sessions(self, args: ListInput) -> str:
        return self._views().list(args)

    def history(self, args: HistoryInput) -> str:
        return self._views().history(args)

    def status(self, args: StatusInput) -> str:
        return self._views().status(args)

    def send(self, call_id: str, args: SendInput) -> str:
        spawner = self.spawner
        return SessionSender(spawner.stores, spawner.waker, self.parent, self._sight()).send(call_id, args)

    def subagents(self, call_id: str, args: SubagentsInput) -> str:
        return SubagentControl(self.spawner.stores, self.spawner.waker, self.parent).act(call_id, args)

    def children_at_work(self) -> int:
        tree = self.spawner.stores.tree
        batches = [tree.batch(batch) for batch in tree.batches(self.parent.session)]
        told = [batch for batch in batches if batch and batch.mode is not AnnounceMode.NONE]
        return sum(len(batch.members) for batch in told if batch.state.is_pending)  # one that is blocked wakes nobody

    def _sight(self) -> Visibility:
        return Visibility(self.spawner.loaded.settings, self.parent, self.spawner.stores.reader)

    def _views(self) -> Views:
        return Views(self.spawner, self.parent, self._sight())
