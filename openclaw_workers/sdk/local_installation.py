"""An installation reached through Redis: settings, stores and entry points of the engine. Opened when first used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from openclaw_workers.config.host import Host
from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.resolve import default_agent_id
from openclaw_workers.domain.ids import BatchId, RunId, SessionKey
from openclaw_workers.engine.client_graph import control_of, intake_of
from openclaw_workers.engine.control import Control
from openclaw_workers.engine.fleet_config import in_force
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.queue_waker import QueueWaker
from openclaw_workers.engine.routing.addressing import SessionRules
from openclaw_workers.engine.stores import Stores, open_stores, stores_on
from openclaw_workers.engine.wake import Waker
from openclaw_workers.store.client import TIMEOUT_SECONDS, Client, connect
from openclaw_workers.store.overview import Overview
from openclaw_workers.store.tree_queries import Trees


class NobodyToWake:
    """Implements Waker where no worker has ever run. The sweep of the first one finds what waits."""

    def turn(self, session: SessionKey, run: RunId, *, place: str | None = None) -> bool:
        return False

    def wake_text(self, session: SessionKey, run: RunId) -> str:
        return ""

    def chord(self, batch: BatchId, headers: Sequence[tuple[SessionKey, RunId]]) -> bool:
        return False

    def header(self, session: SessionKey, run: RunId, batch: BatchId, index: int) -> bool:
        return False

    def forget_chord(self, batch: BatchId) -> None:
        """There is none."""

    def memory_note(self, session_id: str) -> bool:
        return False

    def oldest_ms(self, session: SessionKey) -> int:
        return 0


@dataclass
class LocalInstallation:
    """Implements `queries.installation.Installation`."""

    host: Host
    redis_url: str

    @cached_property
    def loaded(self) -> Loaded:
        """The published configuration; that of the file where none is published."""
        return in_force(self.host, self.redis).loaded

    @cached_property
    def redis(self) -> Client:
        return connect(self.redis_url, max_connections=16)

    @cached_property
    def stores(self) -> Stores:
        settings = self.loaded.settings
        if settings.engine.accept_timeout_seconds == TIMEOUT_SECONDS:
            return stores_on(self.redis, settings)
        return open_stores(settings, self.redis_url)

    @cached_property
    def overview(self) -> Overview:
        return Overview(self.stores.redis, self.stores.keys)

    @cached_property
    def trees(self) -> Trees:
        return Trees(self.stores.redis, self.stores.keys, self.stores.reader)

    @cached_property
    def session_rules(self) -> SessionRules:
        rules = self.loaded.settings.session
        return SessionRules(
            scope=rules.scope,
            dm_scope=rules.dm_scope,
            main_key=rules.main_key,
            identity_links=rules.identity_links,
            default_agent=default_agent_id(self.loaded.settings),
        )

    @cached_property
    def waker(self) -> Waker:
        return QueueWaker(self.stores.redis, self.stores.keys, NobodyToWake)

    @cached_property
    def intake(self) -> Intake:
        return intake_of(self.stores, self.waker)

    @cached_property
    def control(self) -> Control:
        return control_of(self.stores, self.waker)

    def close(self) -> None:
        if "stores" in self.__dict__:
            self.stores.redis.close()
        if "redis" in self.__dict__:
            self.redis.close()
