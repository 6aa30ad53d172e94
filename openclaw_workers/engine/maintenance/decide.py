"""What becomes of a session that nobody uses. Decides only; `sessions` acts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import lru_cache

from openclaw_workers.clock import zone_of
from openclaw_workers.config.session import MaintenanceSettings, SessionSettings
from openclaw_workers.domain.maintenance import KEEP, Action, Decision, Reason
from openclaw_workers.domain.session_key import ChatType, Kind, ParsedKey, parse_key
from openclaw_workers.engine.turn.reset_policy import boundaries
from openclaw_workers.errors import BadInput
from openclaw_workers.store.session_index import SessionFacts

DAY_MS = 86_400_000
OWN_RETENTION = (Kind.SUBAGENT, Kind.CRON)
"""They are removed after their own times, and never continued by a person after a reset."""


class Rules:
    """`zone_for` names the time zone of a session's people, by the agent."""

    def __init__(self, session: SessionSettings, zone_for: Callable[[str], str]) -> None:
        self._session = session
        self._zone_for = lru_cache(maxsize=256)(zone_for)
        # Without settings nothing is removed, only reported.
        self._limits = session.maintenance or MaintenanceSettings(mode="warn")

    @property
    def removes(self) -> bool:
        """Whether sessions are removed, and not only reported."""
        return self._limits.mode == "enforce"

    def decide(self, facts: SessionFacts, rank: int, now: int) -> Decision:
        """`rank`: the session's place among those of its agent, by last use, from 1."""
        try:
            key = parse_key(facts.key, main_key=self._session.main_key)
        except BadInput:
            return KEEP
        if facts.is_busy:
            return KEEP
        if not self._is_protected(key, facts):
            idle, most = now - facts.updated_at, self._limits.max_entries
            if idle > self._limits.prune_after.total_seconds() * 1000:
                return Decision(Action.REMOVE, Reason.UNUSED, f"unused for {idle // DAY_MS:,} days")
            if rank > most and not _is_direct(key):
                return Decision(Action.REMOVE, Reason.SURPLUS, f"more than {most:,} sessions of {key.agent_id}")
        return self._expired(key, facts, now)

    def _is_protected(self, key: ParsedKey, facts: SessionFacts) -> bool:
        """The main session, and where chats of groups and threads lead to."""
        is_chat = key.chat_type is not ChatType.DM
        return key.kind in (Kind.MAIN, Kind.GLOBAL) or is_chat or facts.is_bound

    def _expired(self, key: ParsedKey, facts: SessionFacts, now: int) -> Decision:
        if not facts.entries or facts.is_transient or key.kind in OWN_RETENTION:
            return KEEP
        tz = zone_of(self._zone_for(key.agent_id))
        reset = self._session.reset_for(key.chat_type, facts.last_channel)
        times = boundaries(reset, datetime.fromtimestamp(now / 1000, tz), tz)
        seen = facts.last_interaction_at
        if seen < times.daily_boundary_ms:
            return Decision(Action.ROLL_OVER, Reason.EXPIRED, f"the day ended at {reset.at_hour:02}:00")
        if times.idle_ms and now - seen > times.idle_ms:
            return Decision(Action.ROLL_OVER, Reason.EXPIRED, f"idle for more than {reset.idle_minutes:,} min")
        limit = self._limits.prune_after.total_seconds() * 1000
        if self._is_protected(key, facts) and self.removes and now - facts.updated_at > limit:
            return Decision(Action.ROLL_OVER, Reason.UNUSED, f"unused for {(now - facts.updated_at) // DAY_MS:,} days")
        return KEEP


def _is_direct(key: ParsedKey) -> bool:
    return key.kind is Kind.DM
