"""Preparing a turn: which agent and model, which tools, which part of the transcript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from openclaw_workers.agent.loop import WINDOW_SHARE
from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.agent.turn_setup import TurnPorts, TurnSetup
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.messages import Authority, InboxEntry
from openclaw_workers.domain.session_key import ChatType, agent_of, chat_type
from openclaw_workers.domain.transcript import TranscriptEntry
from openclaw_workers.domain.tree import Role
from openclaw_workers.engine.agent_configs import NOTHING, AgentConfigs
from openclaw_workers.engine.llm.selection import Models
from openclaw_workers.engine.tree.lineage import (
    authority_of,
    depth_of,
    group_of,
    is_sandboxed,
    role_of,
    root_of,
    senders_of,
)
from openclaw_workers.engine.turn.agent_frame import AgentFrames
from openclaw_workers.engine.turn.overrides import call_overrides, session_overrides, shown_in
from openclaw_workers.engine.turn.prompt_facts import SessionPosition, only_files, only_tools
from openclaw_workers.engine.turn.received_files import Receive, ReceivedFiles
from openclaw_workers.engine.turn.request_views import request_views
from openclaw_workers.engine.turn.transcript_cache import TranscriptCache
from openclaw_workers.engine.turn.turn_sandboxes import TurnSandboxes
from openclaw_workers.errors import CorruptRecord
from openclaw_workers.memory.scopes import is_group
from openclaw_workers.skills.catalog import NO_SKILLS, AgentSkills
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.turn_records import Taken

NO_PORTS = TurnPorts()
INCOMPATIBLE = "-"
"""Among a channel's capabilities, the mark of a tool that it cannot be used with."""
INTERNAL = "internal"
"""The channel of messages between sessions."""


@dataclass(frozen=True, slots=True)
class Prepared:
    setup: TurnSetup
    history: list[TranscriptEntry]
    agent: AgentConfig
    report: str
    """The sizes of its system prompt, as JSON."""
    receive: Receive
    """Writes the files of messages that join the turn."""
    skills: AgentSkills = NO_SKILLS


class Preparer:
    """Builds what the agent loop is given for one turn, from configuration and stored state."""

    def __init__(
        self,
        *,
        agents: AgentConfigs,
        frames: AgentFrames,
        models: Models,
        transcripts: TranscriptCache,
        calibration: Calibration,
        reader: Reader,
        received: ReceivedFiles,
        sandboxes: TurnSandboxes,
        main_key: str,
    ) -> None:
        self._agents = agents
        self._frames = frames
        self._models = models
        self._transcripts = transcripts
        self._calibration = calibration
        self._reader = reader
        self._received = received
        self._sandboxes = sandboxes
        self._main_key = main_key

    def prepare(
        self,
        taken: Taken,
        bound: Sequence[InboxEntry],
        ports: TurnPorts = NO_PORTS,
    ) -> Prepared:
        """Build the turn.

        Raises:
            CorruptRecord: the session's row cannot be read.
            NotFound: the agent is no longer configured.
            ProviderError: the model is not known.
        """
        session = taken.lease.session
        call = call_overrides(bound[0]) if bound else NOTHING
        overrides = session_overrides(session, taken.row)
        sandbox = self._sandboxes.of_turn(taken, overrides, call)
        position = self.position(session, taken.row, taken.authority, bound)
        position = replace(position, sandbox=sandbox.plan)
        frame = self._frames.frame(agent_of(session), overrides, call, position, shown_in(taken.row))
        if bound and (extra := bound[0].extra_system_prompt):
            frame = frame.adding(extra, position.role)
        agent = frame.agent
        view_of = request_views(agent, frame.setup, position.role, self._calibration)
        view = view_of(self._models.first(agent))
        setup = replace(
            frame.setup,
            session_key=session,
            run_id=taken.lease.run,
            started_call=taken.started_call,
            steering_waits=taken.steering_waits,
            view=view,
            sessions=ports.sessions,
            memory=ports.memory,
            schedules=ports.schedules,
            commands=ports.commands,
            sandbox=sandbox.port,
            shown_workspace=sandbox.shown_workspace,
            messages=ports.messages,
            questions=ports.questions,
            # None allows every command: an owner has said so with `/elevated full`.
            approvals=None if sandbox.elevation == "full" else ports.approvals,
            hooks=ports.hooks,
            secrets=ports.secrets,
            view_of=view_of,
        )
        # A model that cannot summarise sees only what fits, so no more is read.
        budget = None if view else int(min(setup.window, agent.context_tokens or setup.window) * WINDOW_SHARE)
        receive = self._received.into(frame.setup.workspace, agent.id)
        seen = _seen(self._transcripts.load(taken, budget, receive), bound, taken.lease.run)
        return Prepared(setup, seen, agent, frame.stored_report, receive, frame.skills)

    def position(
        self, session: SessionKey, row: Mapping[str, str], turn: Authority, bound: Sequence[InboxEntry] = ()
    ) -> SessionPosition:
        """As it is stored; where nothing is stored, from the chain of its parents and its key.

        Raises:
            CorruptRecord: what is stored cannot be read.
        """
        stored, role = row.get("spawnDepth", "0"), row.get("subagentRole") or Role.MAIN
        if not stored.isdigit() or role not in list(Role):
            raise CorruptRecord(f"session {session}", f"spawnDepth is {stored!r} and subagentRole {role!r}")
        depth = depth_of(session, row, self._reader)
        channel, last = bound[0].route.channel if bound else INTERNAL, row.get("lastChannel", "")
        # A channel that reports no capabilities is assumed to show text only.
        can = row.get("lastCapabilities", "") if channel in (INTERNAL, last) else ""
        root, authority, agent = (
            root_of(session, row),
            authority_of(row, turn),
            self._agents.of_session(session),
        )
        is_direct = chat_type(root) is ChatType.DM
        reported = list(filter(None, can.split(",")))
        return SessionPosition(
            depth,
            role_of(row, depth, agent.subagents),
            last if channel == INTERNAL else channel,
            tuple(name for name in reported if not name.startswith(INCOMPATIBLE)),
            authority,
            is_private=is_direct and authority.covers(Authority.OWNER),
            group=group_of(session, row, senders_of([entry.metadata for entry in bound])),
            is_sandboxed=is_sandboxed(agent, session, self._main_key),
            incompatible_tools=tuple(name[1:] for name in reported if name.startswith(INCOMPATIBLE)),
            is_group=is_group(root),
            only_files=only_files(bound),
            only_tools=only_tools(bound),
        )


def _seen(entries: list[TranscriptEntry], bound: Sequence[InboxEntry], run: RunId) -> list[TranscriptEntry]:
    """What a turn sees of the transcript: all, or only its own part if its message wants no history."""
    if not bound or bound[0].metadata.get("history") != "none":
        return entries
    return [entry for entry in entries if entry.run_id == run]
