"""Heartbeats: which agents beat, and the message of a beat, or the reason why there is none this time."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from openclaw_workers.agent.output.heartbeat_reply import PROVENANCE, has_tasks
from openclaw_workers.agent.prompt import texts
from openclaw_workers.config.heartbeat import HeartbeatSettings, HoursSettings
from openclaw_workers.config.resolve import agent_ids, resolve_agent
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.job import HEARTBEAT, Job, firing_id
from openclaw_workers.domain.messages import Authority, InboundMessage, Route
from openclaw_workers.domain.schedule import zone
from openclaw_workers.domain.session_key import Kind, normalise, parse_key
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.schedules.fire import BUSY
from openclaw_workers.engine.schedules.targets import INTERNAL, Targets
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.schedules import Schedules
from openclaw_workers.store.system_events import SystemEvents

FILE = "HEARTBEAT.md"
LOOKED_AT = 20
"""Lines of the run log; most of the others are beats that were skipped."""
MAX_FILE_BYTES = 256 << 10


def has_block(settings: Settings, agent_id: str) -> bool:
    """Whether the configuration makes an agent beat: its own block, or that of the defaults if no agent has its own."""
    agents = settings.agents
    entries = {entry.id: entry for entry in agents.list} | dict(agents.profiles)
    own = {name for name, entry in entries.items() if entry.heartbeat}
    return agent_id in own if own else resolve_agent(settings, agent_id).heartbeat is not None


def only_some_beat(settings: Settings) -> bool:
    entries = [*settings.agents.list, *settings.agents.profiles.values()]
    return any(entry.heartbeat for entry in entries)


def is_within(hours: HoursSettings, now_ms: int, user_zone: str) -> bool:
    """Whether a moment lies within hours of the day, which may reach past midnight."""
    local = datetime.fromtimestamp(now_ms / 1000, zone(user_zone if hours.timezone == "user" else hours.timezone))
    now, start, end = local.strftime("%H:%M"), hours.start, hours.end
    # Times with leading zeros compare as text.
    return start <= now < end if start < end else now >= start or now < end


class Heartbeats:
    """Implements fire.Beats."""

    def __init__(
        self,
        *,
        settings: Settings,
        agents: AgentConfigs,
        reader: Reader,
        events: SystemEvents,
        schedules: Schedules,
        targets: Targets,
    ) -> None:
        self._settings = settings
        self._agents = agents
        self._reader = reader
        self._events = events
        self._schedules = schedules
        self._targets = targets

    def beating(self) -> list[str]:
        """The agents that beat: by their block, or by a HEARTBEAT.md that asks for something."""
        settings = self._settings
        by_file = not only_some_beat(settings)
        return [
            agent
            for agent in agent_ids(settings)
            if self._block(agent).every and (has_block(settings, agent) or (by_file and self._tasks(agent)))
        ]

    def may_beat_elsewhere(self, job: Job) -> bool:
        """Whether a job is the heartbeat of an agent that another worker may have found to have tasks."""
        agent = job.id.removeprefix(HEARTBEAT)
        if not job.is_heartbeat or only_some_beat(self._settings) or agent not in agent_ids(self._settings):
            return False
        return bool(self._block(agent).every)

    def message(self, job: Job, time: int) -> InboundMessage | str | None:
        """The message of a beat; why there is none this time; None if the agent no longer beats.

        Raises:
            NotFound: the agent is not configured.
            BadInput: its heartbeat names a session that cannot be.
        """
        agent = job.id.removeprefix(HEARTBEAT)
        block, session = self._block(agent), self._session(agent)
        has_events, tasks = bool(self._events.waiting(session)), self._tasks(agent)
        if not has_block(self._settings, agent) and not tasks:
            return None
        route = self._route(block, session)
        if self._is_too_soon(job.id, block, time):
            return "min-spacing"
        if why := self._why_not(agent, session, time, is_empty=tasks is False and not has_events, route=route):
            return why
        prompt = block.prompt or texts.HEARTBEAT_PROMPT
        return InboundMessage(
            id=firing_id(job.id, time),
            session_key=session,
            text=f"{prompt}\n{texts.HEARTBEAT_EVENTS}" if has_events else prompt,
            route=route or INTERNAL,
            sender="heartbeat",
            authority=Authority.OWNER,
            kind="internal",
            model=block.model,
            metadata={
                "provenance": PROVENANCE,
                "firing": f"{job.id} {time}",
                **({"lightContext": FILE} if block.light_context else {}),
                **({} if block.history else {"history": "none"}),
            },
        )

    def _is_too_soon(self, job_id: str, block: HeartbeatSettings, time: int) -> bool:
        """Whether the last beat that ran is less than the minimum spacing ago."""
        ran = (entry.time for entry in self._schedules.log(job_id, LOOKED_AT) if entry.state in ("ok", "error"))
        last = next(ran, None)
        return last is not None and time - last < block.min_spacing.total_seconds() * 1000

    def _why_not(
        self, agent: str, session: SessionKey, time: int, *, is_empty: bool, route: Route | None
    ) -> str | None:
        block, user_zone = self._block(agent), self._agents.resolve(agent).user_timezone
        if block.active_hours and not is_within(block.active_hours, time, user_zone):
            return "quiet-hours"
        if block.quiet_hours and is_within(block.quiet_hours, time, user_zone):
            return "quiet-hours"
        # A beat has the authority of an owner, and strangers may read along in a group.
        if parse_key(session).kind in (Kind.GROUP, Kind.CHANNEL):
            return "group"
        state = self._reader.control(session)
        if state.state != "idle" or state.waiting:
            return BUSY
        if is_empty:
            return "empty-heartbeat-file"
        return "no-route" if route is None else None

    def _block(self, agent: str) -> HeartbeatSettings:
        return self._agents.resolve(agent).heartbeat_or_default

    def _session(self, agent: str) -> SessionKey:
        named = self._block(agent).session
        if named == "main":
            return self._targets.main(agent)
        return normalise(named, default_agent=agent, main_key=self._settings.session.main_key)

    def _route(self, block: HeartbeatSettings, session: SessionKey) -> Route | None:
        """Where an alert goes; None if nobody could read it."""
        if block.target == "none":
            return INTERNAL
        if block.target not in ("owner", "last"):
            return Route(channel=block.target, to=block.to or "", account_id=block.account_id or "")
        owner = self._owner(block) if block.target == "owner" else None
        last = self._targets.last_route(session)
        return owner or (last if last != INTERNAL else None)

    def _owner(self, block: HeartbeatSettings) -> Route | None:
        """The direct chat of the first owner that a channel names."""
        telegram = self._settings.channels.telegram
        if telegram.enabled and telegram.owners:
            return Route(channel="telegram", to=telegram.owners[0], account_id=block.account_id or "default")
        return None

    def _tasks(self, agent: str) -> bool | None:
        """Whether HEARTBEAT.md asks for something; None if there is no such file."""
        path = Path(self._agents.workspace(agent)) / FILE
        try:
            with path.open("rb") as file:
                return has_tasks(file.read(MAX_FILE_BYTES).decode(errors="replace"))
        except OSError:
            return None
