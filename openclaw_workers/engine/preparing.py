"""Getting a turn ready: which agent and model, which tools, which part of the transcript."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import lru_cache
from threading import Lock
from typing import cast, get_args
from zoneinfo import ZoneInfo

from openclaw_workers.agent.history import estimate_tokens
from openclaw_workers.agent.loop import WINDOW_SHARE, Setup
from openclaw_workers.agent.prompt import system_prompt
from openclaw_workers.config.agents import AgentSettings
from openclaw_workers.config.base import Thinking
from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.resolve import AgentConfig, Overrides, resolve_agent, workspace_dir
from openclaw_workers.engine.freshness import boundaries
from openclaw_workers.errors import CorruptRecord, NotFound
from openclaw_workers.models.ids import SessionKey
from openclaw_workers.models.messages import InboxEntry
from openclaw_workers.models.session_key import ChatType, agent_of, chat_type
from openclaw_workers.models.transcript import TranscriptEntry, UserEntry
from openclaw_workers.providers.registry import get_provider, split_model
from openclaw_workers.store.reading import Reader
from openclaw_workers.store.turns import Freshness, Taken
from openclaw_workers.tools.registry import builtin_tools, specs

PAGE = 200
CACHED_ENTRIES = 20_000
"""Parsed entries a process keeps over all sessions: about 20 MB of short messages."""
NO_LIMIT_MS = 7 * 86_400_000
NOTHING = Overrides()


@dataclass(frozen=True, slots=True)
class Prepared:
    setup: Setup
    history: list[TranscriptEntry]
    model_name: str


@dataclass(frozen=True, slots=True)
class _Remembered:
    session_id: str
    length: int
    entries: list[TranscriptEntry]


class Preparer:
    """Knows configuration and stored state; builds what the agent loop is given."""

    def __init__(self, loaded: Loaded, reader: Reader, *, default_model: str) -> None:
        self._settings = loaded.settings
        self._state_dir = loaded.state_dir
        self._reader = reader
        self._default_model = default_model
        self._recent: OrderedDict[SessionKey, _Remembered] = OrderedDict()
        self._kept = 0
        self._lock = Lock()
        self._agent = lru_cache(maxsize=1024)(self._resolve)
        self._frame = lru_cache(maxsize=1024)(self._build_frame)
        self._fresh = lru_cache(maxsize=64)(self._boundaries)

    @property
    def max_attempts(self) -> int:
        return self._settings.engine.max_attempts

    def time_ms(self, session: SessionKey) -> int:
        """How long a run of this session may take from when it is first taken."""
        return self._agent_of(session).timeout_seconds * 1000 or NO_LIMIT_MS

    def known(self, session: SessionKey) -> tuple[str, int]:
        """Session id and length of the transcript this process still has of the session."""
        with self._lock:
            recent = self._recent.get(session)
        return (recent.session_id, recent.length) if recent else ("", 0)

    def freshness(self, session: SessionKey) -> dict[str, Freshness]:
        """The reset policy of this session, by the channel it was last spoken to on."""
        # Boundaries are whole hours, so that one look a minute is exact.
        return self._fresh(chat_type(session), self._agent_of(session).user_timezone, int(time.time() // 60))

    def prepare(self, taken: Taken, bound: Sequence[InboxEntry]) -> Prepared:
        """Build the turn.

        Raises:
            CorruptRecord: the session's row cannot be read.
            NotFound: the agent is no longer configured.
            ProviderError: the model is not known.
        """
        session = taken.lease.session
        call = Overrides(model=bound[0].model) if bound and bound[0].model else NOTHING
        frame, model_name, budget_tokens = self._frame(agent_of(session), _session_overrides(session, taken.row), call)
        setup = replace(frame, session_key=session, run_id=taken.lease.run, started_call=taken.started_call)
        return Prepared(setup, self._history(taken, taken.row.get("sessionId", ""), budget_tokens), model_name)

    def _build_frame(self, agent_id: str, session: Overrides, call: Overrides) -> tuple[Setup, str, int]:
        """What all turns of an agent with the same overrides have in common, its model and its history's budget."""
        agent = self._agent(agent_id, session, call)
        provider_name, model = split_model(agent.primary)
        provider = get_provider(provider_name)
        window = provider.context_window(model)
        workspace = agent.workspace or workspace_dir(self._settings, agent.id, self._state_dir)
        workspace.mkdir(parents=True, exist_ok=True)
        frame = Setup(
            agent_id=agent.id,
            session_key="",
            run_id="",
            provider=provider,
            model=model,
            system=system_prompt(agent_id=agent.id, agent_name=agent.name, workspace=workspace, specs=specs()),
            thinking=agent.thinking_default,
            tools={tool.name: tool for tool in builtin_tools()},
            specs=specs(),
            workspace=workspace,
            started_call="",
            max_model_calls=self._settings.engine.max_steps,
            tool_timeout_seconds=self._settings.engine.tool_timeout_seconds,
            context_tokens=agent.context_tokens,
        )
        return frame, agent.primary, int(min(window, agent.context_tokens or window) * WINDOW_SHARE)

    def _boundaries(self, kind: ChatType, zone: str, _minute: int) -> dict[str, Freshness]:
        rules, tz = self._settings.session, _local_zone() if zone == "local" else ZoneInfo(zone)
        now = datetime.now(tz)
        return {name: boundaries(rules.reset_for(kind, name), now, tz) for name in ("", *rules.reset_by_channel)}

    def quarantine(self, session: SessionKey, error: CorruptRecord, raw: object) -> None:
        """Keep what could not be read for a person to look at."""
        self._reader.quarantine(f"session {session}: {error.where}", error.why, raw)

    def history_of(self, session: SessionKey) -> list[TranscriptEntry]:
        return self._reader.transcript(session, -PAGE, -1)

    def _history(self, taken: Taken, session_id: str, budget_tokens: int) -> list[TranscriptEntry]:
        """The part of the transcript that fits the budget, reading no further back than that.

        The log only grows, so what a process parsed in an earlier turn of the same session is still true.
        """
        session, length = taken.lease.session, taken.log_length
        known = self._recall(session)
        fresh = length - known.length if known and known.session_id == session_id else length
        if known is not None and 0 <= fresh <= len(taken.tail) and known.session_id == session_id:
            new = taken.tail[len(taken.tail) - fresh :]
            entries = [*known.entries, *self._reader.entries(session, new)]
        else:
            entries = self._reader.entries(session, taken.tail)
            start = length - len(taken.tail)
            spent = sum(map(estimate_tokens, entries))
            while start > 0 and (spent < budget_tokens or not any(isinstance(e, UserEntry) for e in entries)):
                older = self._reader.transcript(session, max(0, start - PAGE), start - 1)
                spent += sum(map(estimate_tokens, older))
                entries, start = [*older, *entries], max(0, start - PAGE)
        entries = _newest(entries, budget_tokens)
        self._remember(session, _Remembered(session_id, length, entries))
        return entries

    def _agent_of(self, session: SessionKey) -> AgentSettings:
        try:
            return self._agent(agent_of(session), NOTHING, NOTHING)
        except NotFound:
            # The agent was taken out of the configuration; `prepare` says so once the run is owned.
            return self._settings.agents.defaults

    def _remember(self, session: SessionKey, recent: _Remembered) -> None:
        with self._lock:
            self._recent[session] = recent
            self._kept += len(recent.entries)
            while self._kept > CACHED_ENTRIES and len(self._recent) > 1:
                _, oldest = self._recent.popitem(last=False)
                self._kept -= len(oldest.entries)

    def _recall(self, session: SessionKey) -> _Remembered | None:
        with self._lock:
            recent = self._recent.pop(session, None)
            self._kept -= len(recent.entries) if recent else 0
        return recent

    def _resolve(self, agent_id: str, session: Overrides, call: Overrides) -> AgentConfig:
        return resolve_agent(
            self._settings, agent_id, session_overrides=session, call=call, default_model=self._default_model
        )


def _local_zone() -> tzinfo:
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None
    return zone


def _newest(entries: list[TranscriptEntry], budget_tokens: int) -> list[TranscriptEntry]:
    """The newest entries about within the budget, and in any case the whole of the last turn."""
    spent, asked = 0, False
    for index in range(len(entries) - 1, -1, -1):
        spent += estimate_tokens(entries[index])
        asked = asked or isinstance(entries[index], UserEntry)
        if spent > budget_tokens and asked:
            return entries[index:]
    return entries


def _session_overrides(session: SessionKey, row: dict[str, str]) -> Overrides:
    """Only the fields a turn obeys are read: parsing the whole row would cost more than the rest of preparing."""
    model, tokens, thinking = row.get("modelOverride"), row.get("contextTokensOverride"), row.get("thinkingLevel")
    if model and row.get("providerOverride"):
        model = f"{row['providerOverride']}/{model}"
    if tokens and not tokens.isdigit():
        raise CorruptRecord(f"session {session}", f"contextTokensOverride is {tokens!r}, expected a number")
    if thinking and thinking not in get_args(Thinking):
        raise CorruptRecord(f"session {session}", f"thinkingLevel is {thinking!r}, expected {get_args(Thinking)}")
    return Overrides(
        model=model, context_tokens=int(tokens) if tokens else None, thinking=cast("Thinking | None", thinking)
    )
