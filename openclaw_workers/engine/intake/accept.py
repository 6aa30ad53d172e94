"""Accepting a message: first it is stored in the inbox, then a worker is woken. Only then the sender is answered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Required, TypedDict, Unpack

from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.accepted import Answered, Queued, Rejected
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey, new_message_id, new_run_id, new_session_id
from openclaw_workers.domain.messages import Authority, InboundMessage, MessageState, QueueMode, Route
from openclaw_workers.domain.runs import lane_of
from openclaw_workers.domain.sent_files import SentFile
from openclaw_workers.domain.session_key import agent_of, chat_type
from openclaw_workers.domain.system_event import SystemEvent
from openclaw_workers.domain.transcript import Attachment
from openclaw_workers.domain.untrusted import safe_line
from openclaw_workers.engine.attachments import MessageFiles
from openclaw_workers.engine.control import Control
from openclaw_workers.engine.deadline import within
from openclaw_workers.engine.delivery.chats import ChatDelivery
from openclaw_workers.engine.intake.clean_text import clean, clean_id, text_for_model, text_to_keep
from openclaw_workers.engine.intake.commands.context import Caller, CommandContext, CommandServices
from openclaw_workers.engine.intake.commands.parse import ParsedCommand, parse_command
from openclaw_workers.engine.intake.skill_commands import SkillFinder
from openclaw_workers.engine.intake.turn_options import checked_model, checked_thinking
from openclaw_workers.engine.routing.row_fields import delivery_fields
from openclaw_workers.engine.wake import Waker
from openclaw_workers.errors import BadInput
from openclaw_workers.store.client import ScriptCall
from openclaw_workers.store.inbox import Accepted, Inbox, JobFiring, QueueRules, Refused
from openclaw_workers.store.reader import Reader

_REFUSALS = {"gone": "it is archived", "busy": "too many messages wait there"}


class AcceptOptions(TypedDict, total=False):
    """The options of `Intake.accept`; `Intake.prepare` describes them."""

    session: Required[SessionKey]
    route: Required[Route]
    sender: str
    sender_id: str
    authority: Authority
    command_authority: Authority | None
    bot_name: str
    shown_as: str
    row: Mapping[str, str] | None
    reply_to: str
    message_id: MessageId | None
    model: str | None
    extra_system_prompt: str | None
    thinking: str | None
    context_tokens: int | None
    timeout_seconds: int | None
    mode: QueueMode | None
    files: Sequence[SentFile]
    attachments: Sequence[Attachment]


@dataclass(frozen=True, slots=True)
class PreparedMessage:
    """A message that was checked, and the script that accepts it."""

    message: InboundMessage
    call: ScriptCall


@dataclass(frozen=True, slots=True)
class PreparedCommand:
    """A command that acts at once, checked."""

    parsed: ParsedCommand
    context: CommandContext


class Intake:
    """The only way into a session: all messages and commands pass here."""

    def __init__(
        self,
        *,
        inbox: Inbox,
        reader: Reader,
        services: CommandServices,
        control: Control,
        waker: Waker,
        chats: ChatDelivery,
        settings: Settings,
        skills: SkillFinder,
        files: MessageFiles,
    ) -> None:
        self._skills = skills
        self._files = files
        self._inbox = inbox
        self._reader = reader
        self._services = services
        self._control = control
        self._waker = waker
        self._chats = chats
        self._settings = settings

    def accept(self, text: str, **options: Unpack[AcceptOptions]) -> Queued | Rejected | Answered:
        """Take a message, or carry out the command it is, with the options of `prepare`.

        Raises:
            BadInput: as for `prepare`.
            StoreUnavailable: not accepted, as far as we know; repeating with the same id is safe.
        """
        prepared = self.prepare(text, **options)
        return self.execute(prepared) if isinstance(prepared, PreparedCommand) else self._store(prepared)

    def execute(self, prepared: PreparedCommand) -> Answered:
        """Carry out a command that acts at once.

        Raises:
            BadInput, StoreUnavailable: as for `accept`.
        """
        return self._now(prepared.parsed, prepared.context)

    def finish(self, prepared: PreparedMessage, reply: list[Any]) -> tuple[Queued | Rejected, RunId | None]:
        """What the script has done with a message, and the run whose wake-up must be published now.

        Without I/O, unless a message with files was rejected.

        Raises:
            StoreFull, CorruptRecord: not accepted.
        """
        match self._inbox.accepted(prepared.message, reply):
            case Refused(reason):
                self._files.discard(prepared.message)
                return Rejected(prepared.message.id, reason), None
            case Accepted(where, run, wake, event_id, duplicate):
                return Queued(prepared.message.id, where, run, event_id, duplicate), wake

    def prepare(
        self,
        text: str,
        *,
        session: SessionKey,
        route: Route,
        sender: str = "",
        sender_id: str = "",
        authority: Authority = Authority.ANYONE,
        command_authority: Authority | None = None,
        bot_name: str = "",
        shown_as: str = "",
        row: Mapping[str, str] | None = None,
        reply_to: str = "",
        message_id: MessageId | None = None,
        model: str | None = None,
        extra_system_prompt: str | None = None,
        thinking: str | None = None,
        context_tokens: int | None = None,
        timeout_seconds: int | None = None,
        mode: QueueMode | None = None,
        files: Sequence[SentFile] = (),
        attachments: Sequence[Attachment] = (),
    ) -> PreparedMessage | PreparedCommand:
        """Check a message, without I/O if the waker is ready and no files come with it.

        `mode` says how a busy session treats this one message.

        `sender` is a name, `sender_id` an id of the channel. `command_authority` is that of a command, if it differs
        from that of a message. `bot_name` is how `/command@name` calls us. `shown_as` is what the model reads instead
        of the text, where a channel adds who wrote it and what it replies to; it must mark a stranger's words itself.
        `row` has fields that the message sets in the session's row. `reply_to` is the channel's id of the message, if
        the answer is to be a reply to it.

        What is said of the model, the prompt, thinking, context and time holds for the turn this message starts.
        `files` come with it. They are stored in Redis here, and the worker that runs the turn writes them into the
        workspace. `attachments`: files that are stored or written already, never paths that a stranger named.

        Raises:
            BadInput: the text is empty or too large, there is no such model or level, the files are too many or too
                large, or a command is not known, not understood, not allowed, or given files.
            StoreUnavailable: a file could not be stored.
        """
        text = clean(text)
        message_id = clean_id(message_id) if message_id else None
        delivery = route.delivery(message_id, session) if message_id else ""
        commands = authority if command_authority is None else command_authority
        caller = Caller(route, authority, commands, safe_line(sender), safe_line(sender_id))
        # Commands are found in the text that the person wrote, before a channel's additions.
        parsed = self._command(text, caller, bot_name, has_files=bool(files or attachments))
        if parsed is not None and parsed.command.now is not None:
            # It acts at once and must not wait behind a long turn, as /stop shows.
            return PreparedCommand(parsed, self._context(session, caller, delivery))
        skill = None if parsed else self._skills.find(text, session, commands, bot_name)
        message = InboundMessage(
            id=message_id or new_message_id(),
            session_key=session,
            text=text_to_keep(parsed, skill, shown_as) or clean(shown_as or text_for_model(text, sender, authority)),
            route=route,
            sender=safe_line(sender),
            authority=authority,
            kind="command" if parsed else "user",
            model=checked_model(self._settings, model),
            extra_system_prompt=clean(extra_system_prompt, "system prompt") if extra_system_prompt else None,
            thinking=checked_thinking(thinking),
            context_tokens=context_tokens,
            timeout_seconds=timeout_seconds,
            metadata={
                **_metadata(replyTo=reply_to, senderId=safe_line(sender_id)),
                **(skill.metadata if skill else {}),
            },
            attachments=tuple(attachments),
        )
        if files:
            message = self._files.store(message, files)
        return self._prepared(message, mode, delivery, row)

    def post(
        self,
        message: InboundMessage,
        mode: QueueMode = QueueMode.FOLLOWUP,
        *,
        event: SystemEvent | None = None,
        firing: JobFiring | None = None,
    ) -> Queued | Rejected:
        """Take a message from within: it is no command, and does not move where the session speaks.

        `event`: what the message wakes the session for; while such a message waits, more events join it. `firing`: the
        time of a scheduled job that the message is; each time is taken once.

        It is refused in two cases: its sub-agent was deleted, or it would start a finished sub-agent again and there is
        no room for one. A repeat of it is refused like the first.

        Raises:
            StoreUnavailable: as for `accept`.
        """
        queued = self._store(self._prepared(message, mode, event=event, firing=firing))
        known = queued.duplicate if isinstance(queued, Queued) else None
        if known is not None and known.state is MessageState.REJECTED:
            return Rejected(message.id, known.reason or "")
        return queued

    def _command(self, text: str, caller: Caller, bot_name: str, *, has_files: bool) -> ParsedCommand | None:
        """The command that a message is, checked; None if it is an ordinary message.

        Raises:
            BadInput: its sender may not give it, or it is not understood.
        """
        triggers = self._settings.session.reset_triggers
        parsed = parse_command(text, reset_triggers=triggers, bot_name=bot_name)
        if parsed is None:
            return None
        may = caller.command_authority.covers(parsed.command.authority)
        # `stop` is also an ordinary word: from somebody who may not stop, it is a message.
        if parsed.is_stop_word and (has_files or not may):
            return None
        if not may:
            raise BadInput(f"/{parsed.command.name} needs the authority of {parsed.command.authority}")
        if has_files:
            raise BadInput(f"/{parsed.command.name} takes no files")
        if parsed.command.now is not None:
            return parsed
        return replace(parsed, argument=parsed.command.checked(self._settings, parsed.argument))

    def _now(self, parsed: ParsedCommand, context: CommandContext) -> Answered:
        seconds = self._settings.engine.accept_timeout_seconds
        return Answered(within(seconds, lambda: self._first_answer(parsed, context)))

    def _context(self, session: SessionKey, caller: Caller, delivery: str) -> CommandContext:
        return CommandContext(
            session=session,
            caller=caller,
            reader=self._reader,
            sessions=self._services.sessions,
            tree=self._services.tree,
            settings=self._settings,
            control=self._control,
            answers=self._services.answers,
            post=self._post_for_command,
            delivery=delivery,
            skill_commands=self._skills.known(session),
        )

    def _post_for_command(self, message: InboundMessage, mode: QueueMode) -> RunId | None:
        posted = self.post(message, mode)
        if isinstance(posted, Rejected):
            why = _REFUSALS.get(posted.reason, f"the limit of {posted.reason} is reached")
            raise BadInput(f"{message.session_key} takes no message: {why}")
        return posted.run

    def _first_answer(self, parsed: ParsedCommand, context: CommandContext) -> str:
        """Execute a command unless that was done before; the scripts make sure that it takes effect once."""
        inbox, act = self._inbox, parsed.command.now
        assert act is not None
        # Without an id of the channel there is nothing by which a repeat could be recognised.
        if not context.delivery:
            return act(context, parsed.argument)
        known = inbox.answer(context.delivery)
        if known is not None:
            return known
        # Kept only after it has acted. A process that dies in between acts again, and the scripts answer it as a
        # repeat.
        text = act(context, parsed.argument)
        inbox.keep_answer(context.delivery, text)
        return text

    def _prepared(
        self,
        message: InboundMessage,
        mode: QueueMode | None,
        delivery: str = "",
        row: Mapping[str, str] | None = None,
        *,
        event: SystemEvent | None = None,
        firing: JobFiring | None = None,
    ) -> PreparedMessage:
        session, route = message.session_key, message.route
        # The script opens a run only if none is open; the id must exist before, because the wake-up names it.
        lane, opening = lane_of(session), new_run_id()
        kind = "subagent" if lane == "subagent" else "main"
        rules = self._rules(route.channel)
        call = self._inbox.accept_call(
            message,
            rules=rules,
            lane=lane,
            agent_id=agent_of(session),
            run_id=opening,
            session_id=new_session_id(),
            row_new={"sessionKind": kind, "chatType": chat_type(session)},
            row_each=dict(row or {}),
            row_route={} if message.kind == "internal" else delivery_fields(route),
            wake=self._waker.wake_text(session, opening),
            mode=mode,
            delivery=delivery,
            to_chat=self._chats.of_accept(session, rules.cap),
            system_event=event,
            firing=firing,
        )
        return PreparedMessage(message, call)

    def _store(self, prepared: PreparedMessage) -> Queued | Rejected:
        seconds = self._settings.engine.accept_timeout_seconds
        accepted, wake = self.finish(prepared, within(seconds, lambda: self._inbox.run(prepared.call)))
        if wake is not None:
            self._waker.turn(prepared.message.session_key, wake)
        return accepted

    def _rules(self, channel: str) -> QueueRules:
        queue = self._settings.messages.queue
        return QueueRules(
            mode=queue.by_channel.get(channel, queue.mode),
            cap=queue.cap,
            drop=queue.drop,
            debounce_ms=queue.debounce_ms_by_channel.get(channel, queue.debounce_ms),
        )


def _metadata(**given: str) -> dict[str, str]:
    return {name: value for name, value in given.items() if value}
