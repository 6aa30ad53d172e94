"""Sending messages as the owner, and following what becomes of them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from openclaw_workers.cli.backend.opened import LocalPart
from openclaw_workers.cli.backend.protocol import Json, OutgoingText
from openclaw_workers.client.sent_files import read_files
from openclaw_workers.config.model_names import find_model
from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.ids import MessageId, SessionKey
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.engine.intake.commands.registry import list_commands
from openclaw_workers.engine.routing.addressing import TERMINAL

if TYPE_CHECKING:
    from openclaw_workers.client.blocking import BlockingReader
    from openclaw_workers.domain.accepted import Answered, Queued, Rejected


class LocalMessages(LocalPart):
    @cached_property
    def conversations(self) -> BlockingReader:
        return self._cli.conversations

    def check(self) -> None:
        _ = self._cli.intake

    def session_key(self, wanted: str, agent: str, thread: str) -> SessionKey:
        return self._cli.session_key(wanted, agent=agent, thread=thread)

    def send(self, message: OutgoingText) -> Queued | Rejected | Answered:
        options = message.options
        # Bytes that are not UTF-8 can be neither stored nor looked up.
        message_id = MessageId(replace_surrogates(message.message_id))
        model = None
        if options.model is not None:  # an unknown name is refused before anything is stored, attachments included
            model = find_model(self._cli.loaded.settings, replace_surrogates(options.model))
        return self._cli.intake.accept(
            message.text,
            session=message.session,
            route=Route(channel=TERMINAL, thread_id=replace_surrogates(message.thread)),
            authority=Authority.OWNER,
            message_id=message_id,
            model=model,
            extra_system_prompt=options.system,
            thinking=options.thinking,
            context_tokens=options.context_tokens,
            timeout_seconds=options.timeout_seconds,
            mode=message.mode,
            files=read_files(message.files),
        )

    def row(self, session: SessionKey) -> Json:
        return dict(self._cli.stores.reader.row(session))

    def commands(self, agent: str) -> Json:
        skills = self._cli.stores.skill_commands.of_agent(agent)
        triggers = self._cli.loaded.settings.session.reset_triggers
        return {"ok": True, "commands": list_commands(triggers, Authority.OWNER, skills)}

    def stop_turn(self, session: SessionKey) -> None:
        self._cli.control.stop_turn(session)
