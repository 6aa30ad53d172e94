"""The composition root of clients: what the CLI and other edges use of the engine. Loads no models and no tools."""

from __future__ import annotations

from openclaw_workers.clock import now_ms
from openclaw_workers.config.resolve import resolve_agent
from openclaw_workers.engine.access.gate import AccessGate
from openclaw_workers.engine.access.pairing_approval import PairingService
from openclaw_workers.engine.archives.writer import ArchiveWriter
from openclaw_workers.engine.delivery.chats import push_channels
from openclaw_workers.engine.intake.system_events import SystemEvents
from openclaw_workers.engine.intake_graph import answers_of, chats_of, control_of, intake_of
from openclaw_workers.engine.maintenance.decide import Rules
from openclaw_workers.engine.maintenance.sessions import SessionMaintenance
from openclaw_workers.engine.schedules.delivery import JobDelivery
from openclaw_workers.engine.schedules.fire import Firing
from openclaw_workers.engine.schedules.job_creators import JobCreators
from openclaw_workers.engine.schedules.service import JobService
from openclaw_workers.engine.schedules.targets import Targets
from openclaw_workers.engine.stores import Stores
from openclaw_workers.engine.wake import Waker
from openclaw_workers.errors import NotFound

__all__ = ["answers_of", "chats_of", "control_of", "intake_of"]


def system_events_of(stores: Stores, waker: Waker) -> SystemEvents:
    return SystemEvents(store=stores.system_events, intake=intake_of(stores, waker), reader=stores.reader)


def firing_of(stores: Stores, waker: Waker) -> Firing:
    targets = Targets(stores.settings, stores.reader)
    return Firing(stores.schedules, intake_of(stores, waker), system_events_of(stores, waker), targets)


def job_creators_of(stores: Stores) -> JobCreators:
    return JobCreators(stores.settings, stores.pairings, stores.tokens, stores.schedules)


def job_delivery_of(stores: Stores) -> JobDelivery:
    settings = stores.settings
    return JobDelivery(
        outbox=stores.outbox,
        targets=Targets(settings, stores.reader),
        policy=settings.session.send_policy,
        push_channels=push_channels(settings),
        webhooks=settings.cron.webhooks.allow,
    )


def jobs_of(stores: Stores, waker: Waker) -> JobService:
    return JobService(
        store=stores.schedules,
        due=stores.due,
        firing=firing_of(stores, waker),
        targets=Targets(stores.settings, stores.reader),
        settings=stores.settings,
    )


def maintenance_of(stores: Stores, waker: Waker, archives: ArchiveWriter | None = None) -> SessionMaintenance:
    """`archives` writes the archives of sessions that are removed."""
    settings = stores.settings

    def zone_for(agent_id: str) -> str:
        try:
            return resolve_agent(settings, agent_id).user_timezone
        except NotFound:  # it was taken out of the configuration, and its sessions are still there
            return settings.agents.defaults.user_timezone

    rules = Rules(settings.session, zone_for)
    return SessionMaintenance(stores.session_index, stores.due, control_of(stores, waker, archives), rules)


def gate_of(stores: Stores) -> AccessGate:
    """Who is heard on chat channels."""
    return AccessGate(
        settings=stores.settings,
        pairings=stores.pairings,
        contexts=stores.group_context,
        sessions=stores.sessions,
        reader=stores.reader,
    )


def pairing_of(stores: Stores) -> PairingService:
    return PairingService(stores.settings, stores.pairings, now_ms=now_ms)
