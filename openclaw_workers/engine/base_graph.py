"""What all parts of a worker's engine stand on: its settings, its stores, and what several parts share."""

from __future__ import annotations

import threading
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.resolve import placed_workspaces
from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.engine.agent_configs import AgentConfigs
from openclaw_workers.engine.archives.writer import ArchiveWriter
from openclaw_workers.engine.client_graph import (
    chats_of,
    intake_of,
)
from openclaw_workers.engine.delivery.chats import ChatDelivery
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.llm.selection import Models
from openclaw_workers.engine.schedules.targets import Targets
from openclaw_workers.engine.stores import Stores
from openclaw_workers.engine.turn.lost_model_calls import LostCalls
from openclaw_workers.engine.turn.transcript_cache import TranscriptCache
from openclaw_workers.engine.wake import Waker
from openclaw_workers.engine.worker.places import HostPlaces
from openclaw_workers.engine.worker.state import WorkerState
from openclaw_workers.hooks import Hooks
from openclaw_workers.store.archives import Archive
from openclaw_workers.store.llm.cooldowns import Cooldowns
from openclaw_workers.store.llm.rate_limits import RateLimits
from openclaw_workers.store.turn_records import TurnRules
from openclaw_workers.store.turns import Turns
from openclaw_workers.tools.mcp.servers import NO_SERVERS, McpServers
from openclaw_workers.tools.plugins.load import NO_PLUGINS, Plugins


@dataclass(frozen=True)
class BaseGraph:
    """The objects of one worker process and one version of the configuration.

    Each is built when the first object that needs it is built, so the order of the members does not matter.
    """

    loaded: Loaded
    stores: Stores
    waker: Waker
    process: WorkerState
    worker: WorkerId
    _: KW_ONLY
    default_model: str
    sweep_wanted: threading.Event = field(default_factory=threading.Event)
    """Set by the runner when a commit leaves work that is due soon; the sweeper waits for it."""
    plugins: Plugins = NO_PLUGINS
    mcp: McpServers = NO_SERVERS
    host_places: HostPlaces | None = None
    """Those of the process, which outlive a version of the configuration."""

    @cached_property
    def places(self) -> HostPlaces:
        return self.host_places or HostPlaces(placed_workspaces(self.loaded.settings, self.loaded.state_dir))

    @cached_property
    def turns(self) -> Turns:
        stores, timing = self.stores, self.stores.timing
        rules = TurnRules(timing.lease_ms, timing.rewake_ms, timing.grant_ms)
        # Workers of all lanes share these rules: a lease that one takes, another must judge in the same way.
        return Turns(stores.redis, stores.keys, self.worker, rules, stores.caps)

    @cached_property
    def agents(self) -> AgentConfigs:
        return AgentConfigs(self.loaded.settings, self.loaded.state_dir, default_model=self.default_model)

    @cached_property
    def models(self) -> Models:
        redis, keys = self.stores.redis, self.stores.keys
        cooldowns, limits = Cooldowns(redis, keys), RateLimits(redis, keys)
        return Models(self.loaded.settings, self.loaded.state_dir, cooldowns, limits)

    @cached_property
    def calibration(self) -> Calibration:
        return Calibration()

    @cached_property
    def transcripts(self) -> TranscriptCache:
        return TranscriptCache(self.stores.reader)

    @cached_property
    def lost_calls(self) -> LostCalls:
        return LostCalls(self.agents, self.models, self.stores.reader)

    @cached_property
    def hooks(self) -> Hooks:
        engine = self.loaded.settings.engine
        return Hooks(seconds=engine.hook_timeout_seconds, failure=engine.hook_failure)

    @cached_property
    def chats(self) -> ChatDelivery:
        return chats_of(self.loaded.settings)

    @cached_property
    def intake(self) -> Intake:
        return intake_of(self.stores, self.waker)

    @cached_property
    def targets(self) -> Targets:
        return Targets(self.loaded.settings, self.stores.reader)

    @cached_property
    def archives(self) -> ArchiveWriter:
        stores, loaded = self.stores, self.loaded
        return ArchiveWriter(
            stores.archives,
            loaded.settings,
            loaded.state_dir,
            stores.memory_notes,
            is_elsewhere=self.places.is_elsewhere,
            on_written=self._session_ended,
        )

    def _session_ended(self, archive: Archive) -> None:
        about = {"sessionKey": archive.session_key, "sessionId": archive.session_id, "agentId": archive.agent_id}
        self.hooks.fire("session_end", {**about, "deleted": archive.is_deleted})
