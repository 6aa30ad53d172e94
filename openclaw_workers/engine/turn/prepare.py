"""Getting a turn ready: which agent and model, which tools, which part of the transcript."""

from __future__ import annotations

import platform
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any
from zoneinfo import ZoneInfo

from openclaw_workers.agent.context.compaction import Context
from openclaw_workers.agent.context.request_view import RequestView
from openclaw_workers.agent.loop import WINDOW_SHARE
from openclaw_workers.agent.model.asker import Asker
from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.agent.model.candidates import Candidate
from openclaw_workers.agent.model.tokens import estimator_for
from openclaw_workers.agent.prompt.host_facts import repo_of, zone_name
from openclaw_workers.agent.prompt.sections import PromptFacts, prompt_parts
from openclaw_workers.agent.prompt.workspace_files import FULL, Signature, file_names, signature
from openclaw_workers.agent.prompt.workspace_files import load as load_files
from openclaw_workers.agent.turn_setup import TurnSetup
from openclaw_workers.cancel import Cancel
from openclaw_workers.config.agents import AgentSettings
from openclaw_workers.config.context import CompactionSettings, MemoryFlushSettings
from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.resolve import AgentConfig, Overrides, model_aliases, resolve_agent, workspace_dir
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.ledger import is_same_owner, next_call_id
from openclaw_workers.domain.messages import InboxEntry
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.session_key import ChatType, agent_of, chat_type
from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.domain.transcript import TranscriptEntry
from openclaw_workers.domain.tree import Role
from openclaw_workers.engine.intake.commands.prompt_report import prompt_report, stored
from openclaw_workers.engine.llm.call_log import CallLog, LostCall
from openclaw_workers.engine.llm.selection import Models
from openclaw_workers.engine.tree.child_files import files_dir
from openclaw_workers.engine.tree.lineage import depth_of, role_of, root_of
from openclaw_workers.engine.turn.agent_frame import AgentFrame, with_prompt
from openclaw_workers.engine.turn.journal import RedisJournal
from openclaw_workers.engine.turn.overrides import NOTHING, Shown, call_overrides, session_overrides, shown_in
from openclaw_workers.engine.turn.reset_policy import boundaries
from openclaw_workers.engine.turn.transcript_cache import TranscriptCache
from openclaw_workers.engine.wake import Waker, wake_run
from openclaw_workers.engine.worker.state import RunHandle
from openclaw_workers.errors import BadInput, CorruptRecord, NotFound, ProviderError
from openclaw_workers.store.llm.ledger_entries import NO_ENTRIES, LedgerEntries
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.tree import Tree
from openclaw_workers.store.turn_records import KnownTranscript, Lease, ResetTimes, Taken
from openclaw_workers.tools.files.documentation import PREFIX, docs_dir
from openclaw_workers.tools.files.task_files import write_task_files
from openclaw_workers.tools.policy.by_depth import tools_at
from openclaw_workers.tools.registry import specs
from openclaw_workers.tools.sessions.port import SessionPort

NO_LIMIT_MS = 7 * 86_400_000
_NO_FLUSH = {"memory_flush": MemoryFlushSettings(enabled=False)}
INTERNAL = "internal"
"""Between sessions: nobody's channel."""


@dataclass(frozen=True, slots=True)
class Prepared:
    setup: TurnSetup
    history: list[TranscriptEntry]
    agent: AgentConfig
    report: str
    """The sizes of its system prompt, as JSON."""


@dataclass(frozen=True, slots=True)
class SessionPosition:
    """Where a session stands: in its tree, and on which channel it is spoken to."""

    depth: int
    role: Role
    channel: str = ""


class Preparer:
    """Knows configuration and stored state; builds what the agent loop is given."""

    def __init__(self, loaded: Loaded, reader: Reader, tree: Tree, models: Models, *, default_model: str) -> None:
        self._settings = loaded.settings
        self._state_dir = loaded.state_dir
        self._reader = reader
        self._tree = tree
        self._models = models
        self._default_model = default_model
        self._histories = TranscriptCache(reader)
        self._calibration = Calibration()
        self._agent = lru_cache(maxsize=1024)(self._resolve)
        self._workspace = lru_cache(maxsize=1024)(self._workspace_of)
        self._frame_of = lru_cache(maxsize=1024)(self._build_frame)
        self._framing = Lock()
        self._files = lru_cache(maxsize=256)(lambda workspace, names, _second: signature(workspace, names))
        self._fresh = lru_cache(maxsize=64)(self._boundaries)

    def _frame(self, *key: Any) -> AgentFrame:
        """The frame for a turn. One thread builds it: all that start at once would build the same one, in turn."""
        with self._framing:
            return self._frame_of(*key)

    @property
    def max_attempts(self) -> int:
        return self._settings.engine.max_attempts

    def time_ms(self, session: SessionKey) -> int:
        """How long a run of this session may take from when it is first taken."""
        return self._agent_of(session).timeout_seconds * 1000 or NO_LIMIT_MS

    def known(self, session: SessionKey) -> KnownTranscript:
        """What this process still has of the session's transcript."""
        return self._histories.known(session)

    def freshness(self, session: SessionKey) -> dict[str, ResetTimes]:
        """The reset policy of this session, by the channel it was last spoken to on."""
        # Boundaries are whole hours, so that one look a minute is exact.
        return self._fresh(chat_type(session), self._agent_of(session).user_timezone, int(time.time() // 60))

    def prepare(self, taken: Taken, bound: Sequence[InboxEntry], sessions: SessionPort | None = None) -> Prepared:
        """Build the turn.

        Raises:
            CorruptRecord: the session's row cannot be read.
            NotFound: the agent is no longer configured.
            ProviderError: the model is not known.
        """
        session = taken.lease.session
        call = call_overrides(bound[0]) if bound else NOTHING
        place = self._place(session, taken.row, bound)
        overrides = session_overrides(session, taken.row)
        workspace = self._workspace(agent_of(session), overrides, call)
        # A changed file is seen within a second; ten looks at the disk for each turn would cost more than the turn.
        names = file_names(self._agent(agent_of(session), overrides, call).prompt_mode, place.role)
        files = self._files(workspace, names, int(time.monotonic()))
        built = self._frame(agent_of(session), overrides, call, place, shown_in(taken.row), files)
        if bound and (extra := bound[0].extra_system_prompt):
            built = built.adding(extra, place.role)
        frame, agent = built.setup, built.agent
        if place.depth and (attached := self._tree.files(session)):
            write_task_files(frame.workspace, files_dir(session), attached)
        view_of = self._views(agent, frame, place.role)
        view = view_of(self._models.first(agent))
        setup = replace(
            frame,
            session_key=session,
            run_id=taken.lease.run,
            started_call=taken.started_call,
            steering_waits=taken.steering_waits,
            view=view,
            sessions=sessions,
            view_of=view_of,
        )
        budget = None if view else int(min(frame.window, agent.context_tokens or frame.window) * WINDOW_SHARE)
        return Prepared(setup, self._histories.load(taken, budget), agent, built.stored_report)

    def prompt(self, agent_id: str) -> AgentFrame:
        """What an agent is told in a session of its own that has nothing set.

        Raises:
            NotFound: there is no such agent.
            ProviderError: its model is not known.
        """
        files = signature(self._workspace(agent_id, NOTHING, NOTHING), FULL)
        return self._frame(agent_id, NOTHING, NOTHING, SessionPosition(0, Role.MAIN), Shown(), files)

    def _place(self, session: SessionKey, row: dict[str, str], bound: Sequence[InboxEntry]) -> SessionPosition:
        """By what is stored, and where nothing is by the chain of its parents and its key."""
        stored, role = row.get("spawnDepth", "0"), row.get("subagentRole") or Role.MAIN
        if not stored.isdigit() or role not in list(Role):
            raise CorruptRecord(f"session {session}", f"spawnDepth is {stored!r} and subagentRole {role!r}")
        depth = depth_of(session, row, self._reader)
        channel = bound[0].route.channel if bound else INTERNAL
        if channel == INTERNAL:
            channel = row.get("lastChannel", "")
        return SessionPosition(depth, role_of(row, depth, self._agent_of(session).subagents), channel)

    def _views(self, agent: AgentConfig, frame: TurnSetup, role: Role) -> Callable[[Candidate], RequestView | None]:
        """How the conversation is kept within the window of each model; None for those that cannot summarise."""
        made: dict[str, RequestView | None] = {}
        # What a sub-agent has to tell is its answer; the memory is the main conversation's, and many would write to it.
        rules = agent.compaction if role is Role.MAIN else agent.compaction.model_copy(update=_NO_FLUSH)

        def view_of(candidate: Candidate) -> RequestView | None:
            if candidate.name not in made:
                made[candidate.name] = self._view(agent, frame, candidate, rules)
            return made[candidate.name]

        return view_of

    def _view(
        self, agent: AgentConfig, frame: TurnSetup, candidate: Candidate, compaction: CompactionSettings
    ) -> RequestView | None:
        if not candidate.provider.can_summarise:
            return None
        estimator = estimator_for(candidate, self._calibration)
        tokens = estimator.frame(frame.whole_system, frame.specs)
        window = candidate.provider.context_window(candidate.model)
        context = Context(min(window, agent.context_tokens or window), tokens, estimator)
        return RequestView(context, compaction, agent.context_pruning)

    def _workspace_of(self, agent_id: str, session: Overrides, call: Overrides) -> Path:
        agent = self._agent(agent_id, session, call)
        return agent.workspace or workspace_dir(self._settings, agent.id, self._state_dir)

    def asker(
        self, handle: RunHandle, taken: Taken, agent: AgentConfig, accounts: CallLog, journal: RedisJournal
    ) -> Asker:
        """Who asks the agent's models in this turn.

        Raises:
            ProviderError, BadInput: they cannot be asked as configured.
        """
        cancel = handle.cancel
        chain = self._models.chain(agent, taken.lease.run, accounts.tree, taken.row, cancel)
        chain.on_skip = accounts.note_attempt
        chain.seconds_left = handle.seconds_left
        handle.hold = chain.guard.hold
        chain.guard.on_wait = lambda why: journal.show("model.waiting", {"why": why})
        reasoning = shown_in(taken.row).reasoning
        return Asker(taken.lease.run, taken.lease.fence, chain, journal, cancel, reasoning, self._calibration)

    def asked_last(
        self, lease: Lease, dead: Sequence[int], row: dict[str, str], agent: AgentConfig, run: Run | None = None
    ) -> list[LostCall]:
        """Whom these owners of a run were asking when they died, as far as that is known; `run` if it was read."""
        chain = self._models.chain(agent, lease.run, root_of(lease.session, row), row, Cancel())
        run = run or self._reader.run(lease.run)
        asked = []
        for fence in dead:
            this = next_call_id(run.last_call if run else "", lease.run, fence)
            # Its own attempts alone: each owner begins with the first model again.
            tried = [each for each in run.model_attempts if is_same_owner(each.id, this)] if run else []
            asked.append(LostCall(this, chain.asked_last(tried)))
        return asked

    def accounts(self, lease: Lease, row: dict[str, str], agent: AgentConfig) -> CallLog:
        tree = root_of(lease.session, row)
        budgets = [budget.name for budget in self._models.budgets(agent, tree)]
        return CallLog(lease.run, lease.session, agent.id, tree, self._models.price, budgets)

    def lost(
        self, last: Lease, tokens: int, row: dict[str, str] | None = None, *, also: Sequence[int] = ()
    ) -> LedgerEntries:
        """What dead owners of a run were asking, for a run that nobody continues; `also` adds owners by their fence."""
        run = self._reader.run(last.run)
        dead = [*(run.dead if run else ()), *also]
        if not dead:
            return NO_ENTRIES
        row = self._reader.row(last.session) if row is None else row
        try:
            call = Overrides(model=run.wanted_model) if run else NOTHING
            agent = self._agent(agent_of(last.session), session_overrides(last.session, row), call)
            accounts = self.accounts(last, row, agent)
            asked = self.asked_last(last, list(dict.fromkeys(dead)), row, agent, run)
        except (CorruptRecord, BadInput, ProviderError):
            return NO_ENTRIES  # then it was asking nobody
        for each in asked:
            accounts.note_lost(each, tokens)
        return accounts.books()

    def _build_frame(
        self,
        agent_id: str,
        session: Overrides,
        call: Overrides,
        place: SessionPosition,
        shown: Shown,
        _files: Signature,
    ) -> AgentFrame:
        agent = self._agent(agent_id, session, call)
        workspace = self._workspace(agent_id, session, call)
        workspace.mkdir(parents=True, exist_ok=True)
        tools = tools_at(place.depth, place.role)
        facts = self._facts(agent, place, shown, workspace, specs(tools))
        parts, first = prompt_parts(facts), self._models.first(agent)
        window = first.provider.context_window(first.model)
        setup = TurnSetup(
            agent_id=agent.id,
            session_key="",
            run_id="",
            window=window,
            system="",
            thinking=agent.thinking_default,
            tools={tool.name: tool for tool in tools},
            specs=specs(tools),
            workspace=workspace,
            started_call="",
            max_model_calls=self._settings.engine.max_steps,
            tool_timeout_seconds=self._settings.engine.tool_timeout_seconds,
            context_tokens=agent.context_tokens,
            zone=zone_of(agent.user_timezone),
            loop_detection=agent.tools.loop_detection,
            exec_seconds=agent.tools.exec.timeout_sec,
            shows_results=shown.verbose == "full",
        )
        can_call_tools = first.provider.can_call_tools
        frame = AgentFrame(with_prompt(setup, parts), agent, parts, can_call_tools)
        listed = setup.specs if can_call_tools else ()
        room = min(window, agent.context_tokens or window)
        report = prompt_report(frame.told, facts.files, listed, model=agent.primary, window=room)
        return replace(frame, report=report, stored_report=stored(report))

    def _facts(
        self, agent: AgentConfig, place: SessionPosition, shown: Shown, workspace: Path, tools: Sequence[ToolSpec]
    ) -> PromptFacts:
        limits = {"max_chars": agent.bootstrap_max_chars, "total_max_chars": agent.bootstrap_total_max_chars}
        return PromptFacts(
            agent_id=agent.id,
            agent_name=agent.identity.name or agent.name,
            theme=agent.identity.theme or "",
            emoji=agent.identity.emoji or "",
            avatar=agent.identity.avatar or "",
            workspace=workspace,
            specs=tools,
            role=place.role,
            mode=agent.prompt_mode,
            docs=_documents(),
            owners=agent.identity.owner_numbers,
            model_aliases=sorted(model_aliases(self._settings).items()),
            timezone=zone_name(agent.user_timezone),
            files=load_files(workspace, file_names(agent.prompt_mode, place.role), **limits),
            extra=agent.extra_system_prompt,
            model=agent.primary,
            channel=place.channel,
            repo=repo_of(workspace),
            thinking=agent.thinking_default,
            reasoning=shown.reasoning,
            verbose=shown.verbose,
            host=socket.gethostname(),
            os=platform.system().lower(),
        )

    def _boundaries(self, kind: ChatType, zone: str, _minute: int) -> dict[str, ResetTimes]:
        rules, tz = self._settings.session, zone_of(zone)
        now = datetime.now(tz)
        return {name: boundaries(rules.reset_for(kind, name), now, tz) for name in ("", *rules.reset_by_channel)}

    def quarantine(self, session: SessionKey, error: CorruptRecord, raw: object) -> None:
        """Keep what could not be read for a person to look at."""
        self._reader.quarantine(f"session {session}: {error.where}", error.why, raw)

    def wake_run(self, waker: Waker, run_id: RunId) -> None:
        """Publish a child's run again, as a part of its chord."""
        run = self._reader.run(run_id)
        if run is not None:
            wake_run(waker, run)

    def history_of(self, session: SessionKey) -> list[TranscriptEntry]:
        return self._histories.newest(session)

    def _agent_of(self, session: SessionKey) -> AgentSettings:
        try:
            return self._agent(agent_of(session), NOTHING, NOTHING)
        except NotFound:
            # The agent was taken out of the configuration; `prepare` says so once the run is owned.
            return self._settings.agents.defaults

    def _resolve(self, agent_id: str, session: Overrides, call: Overrides) -> AgentConfig:
        return resolve_agent(
            self._settings, agent_id, session_overrides=session, call=call, default_model=self._default_model
        )


@lru_cache(maxsize=1)
def _documents() -> tuple[str, ...]:
    docs = docs_dir()
    return tuple(f"{PREFIX}{path.name}" for path in sorted(docs.glob("*.md"))) if docs else ()


def zone_of(name: str) -> tzinfo:
    """A configured time zone; `local` is this machine's."""
    if name != "local":
        return ZoneInfo(name)
    zone = datetime.now().astimezone().tzinfo
    assert zone is not None
    return zone
