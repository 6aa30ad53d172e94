"""What every command shares: the configuration, the state directory, the stores and the engine.

Everything heavy is imported when it is first used, so that `ocw --help` answers at once.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import click

from openclaw_workers.cli.configuration import CliConfiguration
from openclaw_workers.cli.invocation import person_at_terminal
from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.errors import NotFound

if TYPE_CHECKING:
    from openclaw_workers.cli.backend.protocol import Backend
    from openclaw_workers.client.blocking import BlockingReader
    from openclaw_workers.domain.ids import SessionKey
    from openclaw_workers.engine.archives.writer import ArchiveWriter
    from openclaw_workers.engine.control import Control
    from openclaw_workers.engine.intake.accept import Intake
    from openclaw_workers.engine.queue_waker import QueueWaker
    from openclaw_workers.engine.routing.addressing import SessionRules
    from openclaw_workers.engine.stores import Stores
    from openclaw_workers.store.overview import Overview
    from openclaw_workers.store.tree_queries import Trees
    from openclaw_workers.tasks.waker import CeleryWaker


@dataclass
class CliContext(CliConfiguration):
    """Built once per command line; connects and imports only when a command needs it."""

    @cached_property
    def backend(self) -> Backend:
        """What commands ask and order."""
        from openclaw_workers.cli.backend.choose import open_backend

        return open_backend(self)

    def another_backend(self) -> Backend:
        """A backend for another thread, which closes it."""
        from openclaw_workers.cli.backend.choose import open_another

        return open_another(self)

    @cached_property
    def stores(self) -> Stores:
        from openclaw_workers.engine.stores import open_stores, stores_on
        from openclaw_workers.logger import set_up_at_first_line
        from openclaw_workers.store.client import TIMEOUT_SECONDS

        # Most commands log nothing, and setting up the logger takes time.
        set_up_at_first_line(_log_warnings)
        settings = self.loaded.settings
        if settings.engine.accept_timeout_seconds == TIMEOUT_SECONDS:
            return stores_on(self.redis, settings)  # the connection that the configuration was read with
        return open_stores(settings, self.redis_url)

    @cached_property
    def overview(self) -> Overview:
        from openclaw_workers.store.overview import Overview

        return Overview(self.stores.redis, self.stores.keys)

    @cached_property
    def trees(self) -> Trees:
        from openclaw_workers.store.tree_queries import Trees

        return Trees(self.stores.redis, self.stores.keys, self.stores.reader)

    @cached_property
    def conversations(self) -> BlockingReader:
        """Follows conversations."""
        from openclaw_workers.client.blocking import BlockingReader

        stores = self.stores
        return BlockingReader(
            stores.reader,
            stores.inbox,
            stores.tree,
            self.trees,
            stores.workers,
            timeout_seconds=stores.settings.engine.accept_timeout_seconds,
        )

    @cached_property
    def waker(self) -> QueueWaker:
        from openclaw_workers.engine.queue_waker import QueueWaker

        # Celery takes long to import, and is needed only if no worker has stored the template of a wake-up.
        return QueueWaker(self.stores.redis, self.stores.keys, lambda: self.celery_waker)

    @cached_property
    def celery_waker(self) -> CeleryWaker:
        # Before the import: Celery's settings are read from the environment when the module is loaded.
        self.export_environment()
        from openclaw_workers.tasks.app import app
        from openclaw_workers.tasks.waker import CeleryWaker

        stores = self.stores
        return CeleryWaker(app, stores.redis, self.loaded.settings.engine.namespace, stores.places.route)

    @cached_property
    def intake(self) -> Intake:
        from openclaw_workers.engine.intake_graph import intake_of

        return intake_of(self.stores, self.waker)

    @cached_property
    def archives(self) -> ArchiveWriter:
        from openclaw_workers.engine.intake_graph import archives_of

        return archives_of(self.stores, self.loaded)

    @cached_property
    def control(self) -> Control:
        from openclaw_workers.engine.intake_graph import control_of

        return control_of(self.stores, self.waker, self.archives)

    def session_key(self, wanted: str = "", *, agent: str = "", thread: str = "") -> SessionKey:
        """The session to send to: the named one, the one bound to the thread, or that of the agent's direct chats.

        Raises:
            BadInput: the name is not valid, or it names another agent's session.
            NotFound: there is no such agent, or no session is bound to the thread.
        """
        if thread and not wanted:
            return self._session_in_thread(replace_surrogates(thread))
        from openclaw_workers.config.resolve import resolve_agent_id
        from openclaw_workers.engine.routing.addressing import session_for, terminal_origin

        named = bool(agent or wanted)
        agent_id = resolve_agent_id(self.loaded.settings, explicit=agent, session_key=wanted) if named else ""
        person = terminal_origin(person_at_terminal(), session_key=wanted, agent_id=agent_id)
        return session_for(person, self.session_rules)

    def _session_in_thread(self, thread: str) -> SessionKey:
        from openclaw_workers.domain.messages import Route
        from openclaw_workers.engine.routing.addressing import TERMINAL
        from openclaw_workers.engine.routing.thread_bindings import session_in_thread

        session = session_in_thread(self.stores.sessions, Route(channel=TERMINAL, thread_id=thread))
        if session is None:
            hint = "`ocw subagents info ID` shows the thread that a sub-agent is bound to"
            raise NotFound(f"no session is bound to thread {thread}", hint=hint)
        return session

    @property
    def main_key(self) -> str:
        """The configured short name of main sessions."""
        return self.loaded.settings.session.main_key

    @property
    def session_rules(self) -> SessionRules:
        """Which session a message, or a short session name, belongs to."""
        from openclaw_workers.engine.routing.addressing import session_rules

        return session_rules(self.loaded.settings)

    def export_environment(self) -> None:
        """Pass our options on to Celery's processes, which read them from the environment."""
        if self.host.source is not None:
            os.environ["OPENCLAW_CONFIG"] = str(self.host.source)
        os.environ["OPENCLAW_STATE_DIR"] = str(self.host.state_dir)
        os.environ["REDIS_URL"] = self.redis_url
        if self.local_config:
            os.environ["OPENCLAW_LOCAL_CONFIG"] = "1"


def _log_warnings() -> None:
    """To stderr, apart from the answers."""
    from openclaw_workers.logs import setup_logging

    setup_logging(level="warning")


pass_cli = click.make_pass_decorator(CliContext, ensure=True)
