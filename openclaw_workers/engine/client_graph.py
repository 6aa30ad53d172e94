"""The composition root of clients: what the CLI and other edges use of the engine. Loads no models and no tools."""

from __future__ import annotations

from openclaw_workers.engine.archives.writer import ArchiveWriter
from openclaw_workers.engine.control import Control
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.stores import Stores
from openclaw_workers.engine.wake import Waker


def control_of(stores: Stores, waker: Waker, archives: ArchiveWriter | None = None) -> Control:
    return Control(
        inbox=stores.inbox,
        sessions=stores.sessions,
        reader=stores.reader,
        tree=stores.tree,
        exchanges=stores.exchanges,
        caps=stores.caps,
        waker=waker,
        archives=archives,
    )


def intake_of(stores: Stores, waker: Waker) -> Intake:
    return Intake(
        inbox=stores.inbox,
        reader=stores.reader,
        sessions=stores.sessions,
        control=control_of(stores, waker),
        waker=waker,
        settings=stores.settings,
    )
