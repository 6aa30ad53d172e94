"""A walk over all sessions in bounded steps: expired ones are rolled over, unused and surplus ones removed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from openclaw_workers.domain.maintenance import Action, Decision, Finding, Reason
from openclaw_workers.domain.session_key import agent_of, classify
from openclaw_workers.engine.archives.writer import SAVED_TO_MEMORY
from openclaw_workers.engine.control import Control
from openclaw_workers.engine.maintenance.decide import Rules
from openclaw_workers.errors import BadInput, CorruptRecord
from openclaw_workers.logger import get_logger
from openclaw_workers.store.due import DueItems
from openclaw_workers.store.keys import MAINTENANCE
from openclaw_workers.store.session_index import SessionFacts, SessionIndex, Walk

log = get_logger(__name__)

PAGE = 100
MOST_ACTIONS = 20
"""Of one step: each may write an archive to disk."""
PERIOD_MS = 15 * 60_000
STEP_MS = 250
LOOK_SECONDS = 60
ITEM = f"{MAINTENANCE}sessions"


class SessionMaintenance:
    def __init__(self, index: SessionIndex, due: DueItems, control: Control, rules: Rules) -> None:
        self._index = index
        self._due = due
        self._control = control
        self._rules = rules
        self._next = 0.0

    def handle(self, _name: str) -> None:
        """One step of the fleet's walk; one row of the sweeper's table.

        Whoever dies in a step leaves it to the next. Two that take the same step do the same, and each action happens
        once: its script checks that the session was not used since.
        """
        walk = self._index.walk() or Walk(self._due.now_ms())
        following, found = self._step(walk, acts=True, removes=self._rules.removes)
        if following is not None:
            self._index.keep(following)
            self._due.later(ITEM, STEP_MS)
            return
        ended = _with(walk, found)
        self._index.finish(ended)
        if any(ended.done.values()):
            log.info("sessions.maintained", **ended.done)
        if not self._rules.removes and (ended.done.get(Reason.UNUSED) or ended.done.get(Reason.SURPLUS)):
            log.warning("sessions.not_removed", hint="`ocw sessions cleanup --dry-run` lists them", **ended.done)
        self._due.later(ITEM, PERIOD_MS)

    def ensure_due(self) -> None:
        """Called at the start of each sweep. The index of due items decides which worker takes the next step."""
        if time.monotonic() >= self._next:
            self._due.add(ITEM, 0)
            self._next = time.monotonic() + LOOK_SECONDS

    def clean_up(self, *, is_dry_run: bool) -> Iterator[Finding]:
        """The whole walk at once, for a person who asks for it: also removes where the configuration only warns."""
        walk: Walk | None = Walk(self._due.now_ms())
        while walk is not None:
            walk, found = self._step(walk, acts=not is_dry_run, removes=True)
            yield from found

    def _step(self, walk: Walk, *, acts: bool, removes: bool) -> tuple[Walk | None, list[Finding]]:
        page = self._index.page(walk, PAGE)
        now, counts, found = self._due.now_ms(), Counter(walk.counts), list[Finding]()
        seen = 0
        for facts in self._index.facts([key for key, _ in page]):
            seen += 1
            if facts is None:
                continue
            counts[agent_of(facts.key)] += 1
            decision = self._rules.decide(facts, counts[agent_of(facts.key)], now)
            if decision.action is Action.KEEP:
                continue
            may = decision.action is not Action.REMOVE or removes
            found.append(Finding(facts.key, decision, facts.updated_at, acts and may and self._act(facts, decision)))
            if len(found) >= MOST_ACTIONS:
                break
        if seen == len(page) < PAGE:
            return None, found
        # Those that are gone now must not be skipped over.
        gone = {each.session for each in found if each.is_done and each.decision.action is Action.REMOVE}
        score = page[seen - 1][1]
        same = sum(1 for key, at in page[:seen] if at == score and key not in gone)
        skip = same + (walk.skip if walk.score == score else 0)
        return _with(replace(walk, score=score, skip=skip, counts=dict(counts)), found), found

    def _act(self, facts: SessionFacts, decision: Decision) -> bool:
        """False if somebody used the session meanwhile, or it cannot be read: it stays as it is."""
        try:
            if decision.action is Action.ROLL_OVER:
                return self._control.expire(facts.key, unused_since=facts.updated_at)
            if facts.entries and not facts.is_transient and classify(facts.key) in SAVED_TO_MEMORY:
                # A conversation is saved to memory when it ends, and not when it is deleted.
                self._control.expire(facts.key, unused_since=facts.updated_at)
            return self._control.retire(facts.key, unused_since=facts.updated_at)
        except (CorruptRecord, BadInput) as error:
            log.warning("session.not_maintained", sessionKey=facts.key, error=error.message)
            return False


def _with(walk: Walk, found: list[Finding]) -> Walk:
    reasons = Counter(walk.done) + Counter(str(each.decision.reason) for each in found)
    return replace(walk, done=dict(reasons))
