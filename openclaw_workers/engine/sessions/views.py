"""What the session tools show: lists, histories and status of sessions, all bounded in size."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

from openclaw_workers.agent.prompt.texts import LOOKED_AT_MOST
from openclaw_workers.clock import now_ms
from openclaw_workers.config.model_names import find_model
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.session_key import Kind, normalise, parse_key
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.domain.untrusted import neutralise_json
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.sessions.excerpts import excerpt
from openclaw_workers.engine.sessions.visibility import Reach, Visibility
from openclaw_workers.engine.tree.child import Parent
from openclaw_workers.engine.tree.lineage import depth_of, role_of
from openclaw_workers.errors import BadInput
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.sessions import Sessions
from openclaw_workers.store.tree import Tree
from openclaw_workers.tools.sessions.inputs import HistoryInput, ListInput, StatusInput

MOST_LOOKED_AT = 2000
"""A turn does not read more sessions for one list, whatever it asks for."""

_KINDS = {Kind.CHANNEL: "group"} | {
    kind: kind.value for kind in (Kind.MAIN, Kind.GROUP, Kind.CRON, Kind.HOOK, Kind.NODE)
}


class Views:
    """Reads on behalf of one running turn."""

    def __init__(
        self,
        *,
        reader: Reader,
        sessions: Sessions,
        tree: Tree,
        agents: AgentConfigs,
        settings: Settings,
        viewer: Parent,
        sight: Visibility,
    ) -> None:
        self._reader = reader
        self._sessions = sessions
        self._tree = tree
        self._agents = agents
        self._settings = settings
        self._viewer = viewer
        self._sight = sight

    def list(self, args: ListInput) -> str:
        since = now_ms() - args.active_minutes * 60_000 if args.active_minutes else 0
        shown: list[dict[str, Any]] = []
        looked_at = 0
        for entry in self._candidates():
            if entry.updated_at < since or len(shown) == args.limit:
                break  # they come in this order
            looked_at += 1
            hidden = self._sight.denial(entry.session_key, {"spawnedBy": entry.spawned_by or ""})
            if hidden is None and (not args.kinds or self._kind(entry) in args.kinds):
                shown.append(self._brief(entry, args.message_limit))
        note = LOOKED_AT_MOST.format(most=MOST_LOOKED_AT) if looked_at == MOST_LOOKED_AT else None
        return _json(_given({"status": "ok", "count": len(shown), "sessions": shown, "note": note}))

    def _candidates(self) -> Iterator[SessionEntry]:
        """Sessions that the viewer may see, the most recently used first. Some of them it may not see."""
        reach = self._sight.reach()
        if reach is Reach.ALL:
            return islice(self._reader.each_session(), MOST_LOOKED_AT)
        own = self._reader.session(self._viewer.session)
        found = {own.session_key: own} if own else {}
        level = [self._viewer.session] if reach is not Reach.SELF else []
        while level:
            below = [entry for key in level for entry in self._reader.spawned(key)]
            level = [entry.session_key for entry in below if entry.session_key not in found]
            found |= {entry.session_key: entry for entry in below}
            if reach is Reach.CHILDREN:
                break
        return iter(sorted(found.values(), key=lambda entry: entry.updated_at, reverse=True))

    def history(self, args: HistoryInput) -> str:
        key = self._visible(args.session_key)
        if isinstance(key, dict):
            return _json(key)
        messages = excerpt(self._reader, key, args.limit, include_tools=args.include_tools)
        return _json({"status": "ok", "sessionKey": key, **messages})

    def status(self, args: StatusInput) -> str:
        key = self._viewer.session if args.session_key == "current" else self._visible(args.session_key)
        refusal = key if isinstance(key, dict) else self._set_model(key, args.model)
        if refusal is not None:
            return _json(refusal)
        entry = self._reader.session(SessionKey(str(key)))
        if entry is None:
            return _json(_refusal("error", f"the record of session {key} cannot be read"))
        control = self._reader.control(entry.session_key)
        children, _ = self._tree.counts(entry.session_key, entry.session_key)
        about = {"run": control.run or None, "waitingMessages": control.waiting, "childrenAtWork": children}
        about |= {"queueMode": entry.queue_mode, "inputTokens": entry.input_tokens, "outputTokens": entry.output_tokens}
        about |= {"role": self._role(entry), "time": time.strftime("%Y-%m-%dT%H:%M:%S%z")}
        return _json({"status": "ok", **self._brief(entry, 0), **_given(about)})

    def _visible(self, wanted: str) -> SessionKey | dict[str, Any]:
        try:
            key = normalise(wanted, default_agent=self._viewer.agent.id, main_key=self._settings.session.main_key)
        except BadInput as error:
            return _refusal("error", error.message)
        why = self._sight.denial(key)
        if why is not None:
            return _refusal("forbidden", why)
        return key if self._reader.row(key) else _refusal("error", f"no session {key}")

    def _set_model(self, key: SessionKey, wanted: str | None) -> dict[str, Any] | None:
        if wanted is None:
            return None
        if not self._viewer.authority.covers(Authority.AUTHORIZED):
            return _refusal("forbidden", "whoever asked may not choose the model, as with /model")
        if key != self._viewer.session and self._reader.row(key).get("spawnedBy") != self._viewer.session:
            return _refusal("forbidden", "you may set the model of your own session and of what you spawned")
        provider, model = "", ""
        if wanted != "default":
            try:
                provider, _, model = find_model(self._settings, wanted).partition("/")
            except BadInput as error:
                return _refusal("error", f"model {wanted!r}: {error.message}")
        self._sessions.patch(key, {"providerOverride": provider, "modelOverride": model})
        return None

    def _brief(self, entry: SessionEntry, messages: int) -> dict[str, Any]:
        facts = {
            "key": entry.session_key,
            "kind": self._kind(entry),
            "agentId": entry.agent_id,
            "sessionId": entry.session_id,
            "state": self._reader.control(entry.session_key).state,
            "label": entry.label,
            "displayName": entry.display_name,
            "channel": entry.last_channel,
            "lastTo": entry.last_to,
            "updatedAt": entry.updated_at,
            "model": self._model(entry),
            "thinkingLevel": entry.thinking_level,
            "contextTokens": entry.context_tokens,
            "totalTokens": entry.total_tokens,
            "turns": entry.turns,
            "spawnedBy": entry.spawned_by,
            "spawnDepth": self._depth(entry),
        }
        facts = neutralise_json(facts)  # labels and names were given by others
        if messages:
            facts["messages"] = excerpt(self._reader, entry.session_key, messages)["messages"]
        return _given(facts)

    def _depth(self, entry: SessionEntry) -> int:
        row = {"spawnedBy": entry.spawned_by or ""}
        return entry.spawn_depth or depth_of(entry.session_key, row, self._reader)

    def _role(self, entry: SessionEntry) -> str | None:
        try:
            own = self._agents.resolve(entry.agent_id).subagents
        except BadInput:
            return entry.subagent_role
        row = {"subagentRole": entry.subagent_role or "", "maxSpawnDepth": str(entry.max_spawn_depth or "")}
        return role_of(row, self._depth(entry), own)

    def _kind(self, entry: SessionEntry) -> str:
        kind = parse_key(entry.session_key, main_key=self._settings.session.main_key).kind
        return _KINDS.get(kind, "other")

    def _model(self, entry: SessionEntry) -> str | None:
        if entry.model_override:
            return f"{entry.provider_override}/{entry.model_override}"
        try:
            return self._agents.resolve(entry.agent_id).primary
        except BadInput:
            return None  # its agent is no longer configured


def _refusal(status: str, error: str) -> dict[str, Any]:
    return {"status": status, "error": error}


def _given(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if value is not None}


def _json(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False)
