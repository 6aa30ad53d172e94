"""The way of a channel's message into a session: access, files, text, accept. What is answered at once goes through the
outbox, so that it is sent once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from ingress.channels.account_lease import Call
from openclaw_workers.domain.accepted import Answered, Queued, Rejected
from openclaw_workers.domain.file_names import safe_file_name
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.domain.inbound import Inbound
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage
from openclaw_workers.domain.sent_files import SentFile
from openclaw_workers.engine.access.gate import AccessGate, Admitted, Ignored, KeptAsContext, Refused
from openclaw_workers.engine.access.message_text import text_for_model
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.intake.clean_text import message_id_for
from openclaw_workers.errors import BadInput
from openclaw_workers.store.outbox import Outbox

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class LoadedMedia:
    """The files of a message, once its sender is known to be heard."""

    files: tuple[SentFile, ...] = ()
    words: tuple[str, ...] = ()
    """Added to the text: transcripts of recordings, and the names of files that could not be loaded."""
    notice: str = ""
    """The reply to the sender about them."""


Load = Callable[[], Awaitable[LoadedMedia]]


async def no_media() -> LoadedMedia:
    return LoadedMedia()


@dataclass(frozen=True, slots=True)
class Accepted:
    """It is in the inbox of a session."""

    session: SessionKey
    run: RunId | None
    is_repeat: bool


@dataclass(frozen=True, slots=True)
class Replied:
    """It is no message for an agent; its sender gets a reply that says so, or the answer of a command."""

    text: str


class InboundIntake:
    """Takes messages of all channels. A message that is delivered again changes nothing."""

    def __init__(
        self,
        *,
        gate: AccessGate,
        intake: Intake,
        outbox: Outbox,
        call: Call,
    ) -> None:
        self._gate = gate
        self._intake = intake
        self._outbox = outbox
        self._call = call

    async def accept(
        self, inbound: Inbound, load: Load = no_media
    ) -> Accepted | Replied | Refused | KeptAsContext | Ignored:
        """Accept a message. Its files are loaded only if its sender is heard.

        Raises:
            StoreUnavailable: nothing is lost if the same message is given again.
            BadInput: the channel left out an id that the session depends on.
        """
        verdict: Admitted | Refused | KeptAsContext | Ignored = await self._call(self._gate.admit, inbound)
        if isinstance(verdict, Admitted):
            # Files only now: a stranger must not be able to make us download anything.
            taken: Accepted | Replied = await self._call(self._take, inbound, verdict, await load())
            return taken
        if isinstance(verdict, Refused):
            await self._call(self._tell, inbound, "refused", verdict.text, OutgoingKind.NOTICE)
        log.debug("message.not_accepted", channel=inbound.channel, verdict=type(verdict).__name__)
        return verdict

    def _take(self, inbound: Inbound, admitted: Admitted, media: LoadedMedia) -> Accepted | Replied:
        if media.notice:
            self._tell(inbound, "media", media.notice, OutgoingKind.NOTICE)
        names = [] if inbound.text else [f"[{safe_file_name(file.name)}]" for file in media.files]
        text = "\n".join(filter(None, [inbound.text, *media.words, *names]))
        if not text:
            return Replied(media.notice)
        try:
            result = self._enqueue(inbound, admitted, media, text)
        except BadInput as error:
            # The sender can mend it, for example a wrong command, so it is told and not retried as a failure.
            result = Answered(". ".join(filter(None, [error.message, error.hint])))
        match result:
            case Answered(answer):
                self._tell(inbound, "answer", answer, OutgoingKind.REPLY)
                return Replied(answer)
            case Rejected(_, reason):
                return Replied(reason)
            case Queued():
                # Only after it is accepted: if that fails, the next try still has the context.
                self._gate.forget_context(admitted)
                return Accepted(result.session_key, result.run, result.duplicate is not None)

    def _enqueue(
        self, inbound: Inbound, admitted: Admitted, media: LoadedMedia, text: str
    ) -> Queued | Rejected | Answered:
        message_id = _id_of(inbound)
        authority = admitted.authority
        return self._intake.accept(
            text,
            session=admitted.session,
            route=admitted.route,
            sender=inbound.sender_name or inbound.username,
            sender_id=inbound.sender_id,
            authority=authority,
            command_authority=admitted.command_authority,
            bot_name=inbound.bot_name,
            shown_as=text_for_model(inbound, authority, admitted.context.messages, text),
            row=admitted.row,
            message_id=message_id,
            reply_to=inbound.message_id if inbound.is_group else "",
            files=media.files,
        )

    def _tell(self, inbound: Inbound, about: str, text: str, kind: OutgoingKind) -> None:
        """Answer without a turn. The id is that of the cause, so a repeat is not sent twice."""
        if not text:
            return
        message = OutgoingMessage(
            id=f"{about}-{_id_of(inbound)}",
            kind=kind,
            route=inbound.route,
            text=text,
            reply_to=inbound.message_id if inbound.is_group else "",
        )
        self._outbox.put(message)


def _id_of(inbound: Inbound) -> MessageId:
    return message_id_for(inbound.channel, inbound.account_id, inbound.chat_id, inbound.message_id)
