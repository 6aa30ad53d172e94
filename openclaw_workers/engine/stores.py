"""One place that builds the stores from settings; clients and workers share it."""

from __future__ import annotations

from dataclasses import dataclass

from openclaw_workers.config.resolve import lane_cap
from openclaw_workers.config.settings import Settings
from openclaw_workers.config.tool_secrets import secret_values
from openclaw_workers.domain.runs import Lane
from openclaw_workers.redaction import protect
from openclaw_workers.store.archives import Archives
from openclaw_workers.store.browser_logins import BrowserLogins
from openclaw_workers.store.channels import Channels
from openclaw_workers.store.client import Client, connect
from openclaw_workers.store.due import DueItems
from openclaw_workers.store.group_context import GroupContext
from openclaw_workers.store.inbox import Inbox
from openclaw_workers.store.inter_session import InterSession
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.leases import Leases
from openclaw_workers.store.llm.ledger import Ledger
from openclaw_workers.store.llm.lost_model_calls import LostCallRecords
from openclaw_workers.store.memory import MemoryRequests
from openclaw_workers.store.memory_notes import MemoryNotes
from openclaw_workers.store.moves import Moves
from openclaw_workers.store.outbox import Outbox
from openclaw_workers.store.pairing import Pairings
from openclaw_workers.store.place_requests import PlaceRequests
from openclaw_workers.store.places import Places
from openclaw_workers.store.questions import Questions, StandingApprovals
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.schedules import Schedules
from openclaw_workers.store.session_index import SessionIndex
from openclaw_workers.store.sessions import Sessions
from openclaw_workers.store.skill_commands import SkillCommands
from openclaw_workers.store.system_events import SystemEvents
from openclaw_workers.store.tokens import Tokens
from openclaw_workers.store.tree import Tree
from openclaw_workers.store.uploads import Uploads
from openclaw_workers.store.workers import Workers


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds, all derived from the lease: a shorter lease makes everything react sooner."""

    lease_ms: int

    @property
    def rewake_ms(self) -> int:
        """After this long without a taker a wake-up counts as lost."""
        return self.lease_ms // 2

    @property
    def grant_ms(self) -> int:
        """How long a lane slot is kept for the session that was woken to use it."""
        return self.lease_ms // 2


@dataclass(frozen=True, slots=True)
class Stores:
    settings: Settings
    redis: Client
    keys: Keys
    timing: Timing
    caps: dict[Lane, int]
    inbox: Inbox
    sessions: Sessions
    leases: Leases
    due: DueItems
    workers: Workers
    places: Places
    moves: Moves
    reader: Reader
    tree: Tree
    exchanges: InterSession
    ledger: Ledger
    lost_calls: LostCallRecords
    archives: Archives
    place_requests: PlaceRequests
    memory: MemoryRequests
    memory_notes: MemoryNotes
    pairings: Pairings
    group_context: GroupContext
    outbox: Outbox
    channels: Channels
    system_events: SystemEvents
    schedules: Schedules
    skill_commands: SkillCommands
    session_index: SessionIndex
    questions: Questions
    standing_approvals: StandingApprovals
    tokens: Tokens
    browser_logins: BrowserLogins
    uploads: Uploads


def open_stores(settings: Settings, redis_url: str, *, max_connections: int = 16) -> Stores:
    """Connects on first use, so this never fails by itself."""
    timeout = settings.engine.accept_timeout_seconds
    return stores_on(connect(redis_url, timeout_seconds=timeout, max_connections=max_connections), settings)


def stores_on(redis: Client, settings: Settings) -> Stores:
    """The stores on a connection that exists. From here on this process masks the secrets of the settings."""
    protect(secret_values(settings))
    keys = Keys(settings.engine.namespace)
    timing = Timing(int(settings.engine.lease_seconds * 1000))
    reader = Reader(redis, keys)
    tokens = Tokens(redis, keys)
    return Stores(
        settings=settings,
        redis=redis,
        keys=keys,
        timing=timing,
        caps=lane_caps(settings),
        inbox=Inbox(redis, keys, reader, rewake_ms=timing.rewake_ms, grant_ms=timing.grant_ms),
        sessions=Sessions(redis, keys, grant_ms=timing.grant_ms),
        leases=Leases(redis, keys, lease_ms=timing.lease_ms, rewake_ms=timing.rewake_ms, grant_ms=timing.grant_ms),
        due=DueItems(redis, keys, lease_ms=timing.lease_ms),
        workers=Workers(redis, keys, lease_ms=timing.lease_ms),
        places=Places(redis, keys),
        moves=Moves(redis, keys),
        reader=reader,
        tree=Tree(redis, keys, reader, rewake_ms=timing.rewake_ms),
        exchanges=InterSession(redis, keys),
        ledger=Ledger(redis, keys),
        lost_calls=LostCallRecords(redis, keys),
        archives=Archives(redis, keys),
        place_requests=PlaceRequests(redis, keys),
        memory=MemoryRequests(redis, keys),
        memory_notes=MemoryNotes(redis, keys),
        pairings=Pairings(redis, keys),
        group_context=GroupContext(redis, keys),
        outbox=Outbox(redis, keys),
        channels=Channels(redis, keys),
        system_events=SystemEvents(redis, keys),
        schedules=Schedules(redis, keys, log_entries=settings.cron.run_log_entries),
        skill_commands=SkillCommands(redis, keys),
        session_index=SessionIndex(redis, keys),
        questions=Questions(redis, keys, rewake_ms=timing.rewake_ms),
        standing_approvals=StandingApprovals(redis, keys),
        tokens=tokens,
        browser_logins=BrowserLogins(redis, keys, tokens),
        uploads=Uploads(redis, keys),
    )


def lane_caps(settings: Settings) -> dict[Lane, int]:
    """Cluster-wide caps; 0 is none."""
    return {lane: lane_cap(settings, lane) or 0 for lane in (Lane.MAIN, Lane.SUBAGENT, Lane.CRON)}
