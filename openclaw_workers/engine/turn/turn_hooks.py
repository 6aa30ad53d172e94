"""The hooks around a turn: a message was received, a session begins, the agent has ended its turn."""

from __future__ import annotations

import json

import structlog

from openclaw_workers.domain.session_key import agent_of, is_subagent
from openclaw_workers.domain.tree import own_batch
from openclaw_workers.engine.tree.lineage import authority_of
from openclaw_workers.engine.tree.subagent_hooks import fire
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.hooks import Event, Hooks
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.turn_records import Outcome, Taken

log = structlog.get_logger(__name__)


class TurnHooks:
    def __init__(self, hooks: Hooks, reader: Reader) -> None:
        self._hooks = hooks
        self._reader = reader

    def begun(self, taken: Taken) -> None:
        """A turn begins; not called for when another worker continues one."""
        if taken.resumed:
            return
        self._fire_spawned(taken)
        if taken.row.get("turns", "0") == "0" and self._hooks.is_used("session_start"):
            self._hooks.fire("session_start", {**_who(taken), "sessionId": taken.row.get("sessionId", "")})
        if taken.bound and self._hooks.is_used("message_received"):
            found = [json.loads(raw) for raw in taken.bound]
            messages = [
                {
                    "id": each.get("id", ""),
                    "text": each.get("text", ""),
                    "channel": each.get("route", {}).get("channel", ""),
                    "sender": each.get("sender", ""),
                }
                for each in found
            ]
            self._hooks.fire("message_received", {**_who(taken), "messages": messages})

    def ended(self, taken: Taken, outcome: Outcome) -> None:
        """The outcome of a turn is stored."""
        if self._hooks.is_used("agent_end"):
            about = {"state": outcome.state, "reason": outcome.reason, "text": outcome.text, "error": outcome.error}
            self._hooks.fire("agent_end", {**_who(taken), **about, "model": outcome.model})

    def _fire_spawned(self, taken: Taken) -> None:
        """For a child that got a message after it had ended: no worker has fired the hook for this run yet."""
        if taken.how != "taken" or not is_subagent(taken.lease.session) or not self._hooks.is_used("subagent_spawned"):
            return
        try:
            run = self._reader.run(taken.lease.run)
        except StoreUnavailable as error:
            # A hook is not worth failing the turn for.
            log.warning("hook.skipped", error=error.message)
            return
        if run is not None and run.batch == own_batch(run.id):
            fire("subagent_spawned", run)


def _who(taken: Taken) -> Event:
    session = taken.lease.session
    return {
        "sessionKey": session,
        "agentId": agent_of(session),
        "runId": taken.lease.run,
        "authority": str(authority_of(taken.row, taken.authority)),
    }
