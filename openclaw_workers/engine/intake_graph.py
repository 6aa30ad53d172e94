"""Builds what every client uses of the engine: the intake and the control of sessions. `client_graph` has the rest."""

from __future__ import annotations

from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.resolve import placed_workspaces
from openclaw_workers.config.settings import Settings
from openclaw_workers.engine.approvals.answers import Answers
from openclaw_workers.engine.archives.writer import ArchiveWriter
from openclaw_workers.engine.attachments import MessageFiles
from openclaw_workers.engine.control import Control
from openclaw_workers.engine.delivery.chats import ChatDelivery, push_channels
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.intake.commands.context import CommandServices
from openclaw_workers.engine.intake.skill_commands import SkillFinder
from openclaw_workers.engine.stores import Stores
from openclaw_workers.engine.wake import Waker
from openclaw_workers.place_id import seen_place


def chats_of(settings: Settings) -> ChatDelivery:
    return ChatDelivery(settings.session.send_policy, push_channels(settings))


def control_of(stores: Stores, waker: Waker, archives: ArchiveWriter | None = None) -> Control:
    return Control(
        inbox=stores.inbox,
        sessions=stores.sessions,
        reader=stores.reader,
        tree=stores.tree,
        exchanges=stores.exchanges,
        caps=stores.caps,
        waker=waker,
        chats=chats_of(stores.settings),
        archives=archives,
    )


def archives_of(stores: Stores, loaded: Loaded) -> ArchiveWriter:
    """What writes archives in a process that is no worker: those of agents whose files this host sees."""
    workspaces = placed_workspaces(loaded.settings, loaded.state_dir)

    def is_elsewhere(agent_id: str) -> bool:
        place, directory = stores.places.route(agent_id), workspaces.get(agent_id)
        return bool(place) and (directory is None or seen_place(directory) != place)

    return ArchiveWriter(
        stores.archives, loaded.settings, loaded.state_dir, stores.memory_notes, is_elsewhere=is_elsewhere
    )


def answers_of(stores: Stores, waker: Waker) -> Answers:
    return Answers(stores.questions, stores.standing_approvals, stores.reader, waker)


def intake_of(stores: Stores, waker: Waker) -> Intake:
    return Intake(
        inbox=stores.inbox,
        reader=stores.reader,
        services=CommandServices(stores.sessions, stores.tree, answers_of(stores, waker)),
        control=control_of(stores, waker),
        waker=waker,
        chats=chats_of(stores.settings),
        settings=stores.settings,
        files=MessageFiles(stores.uploads, stores.inbox),
        skills=SkillFinder(
            stores.skill_commands,
            reset_triggers=stores.settings.session.reset_triggers,
            timeout_seconds=stores.settings.engine.accept_timeout_seconds,
        ),
    )
