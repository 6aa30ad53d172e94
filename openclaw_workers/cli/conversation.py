"""Sending a message and showing the answer, for every command that talks to an agent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import click

from openclaw_workers.cli.output import Exit, echo_json, report
from openclaw_workers.cli.render.answer_stream import AnswerStream
from openclaw_workers.client.protocol import Ended, Gap, Note, Quiet
from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.ids import MessageId, SessionKey
from openclaw_workers.domain.messages import Authority, QueueMode, Route
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.reader import Event
from openclaw_workers.views.answers import Answer, answer_json, answer_of_run, answer_without_run

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from openclaw_workers.cli.context import CliContext
    from openclaw_workers.client.follow_message import Conversation
    from openclaw_workers.client.protocol import Update
    from openclaw_workers.domain.transcript import Attachment
    from openclaw_workers.engine.intake.accept import Answered, Queued, Rejected

CHANNEL = "cli"


def exit_code_of(answer: Answer) -> Exit:
    if answer.status == "rejected":
        return Exit.REFUSED
    return Exit.RUN_FAILED if answer.error else Exit.OK


def print_answer(cli: CliContext, answer: Answer, *, is_text_shown: bool) -> None:
    """Print an answer, or why there is none."""
    if cli.json:
        if answer.session_id is None:
            answer = replace(answer, session_id=session_id_of(cli, answer.session))
        echo_json(answer_json(answer))
        return
    if answer.text and not is_text_shown:
        click.echo(answer.text)
    report_error(answer)


def report_error(answer: Answer) -> None:
    """Say on stderr why there is no answer."""
    if answer.error:
        report(str(answer.error["type"]), str(answer.error["message"]), answer.error["hint"], as_json=False)


def session_id_of(cli: CliContext, key: SessionKey) -> str | None:
    row = cli.stores.reader.session(key)
    return row.session_id if row else None


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """What a message sets for its own turn only."""

    model: str | None = None
    system: str | None = None
    """Added to the system prompt."""
    thinking: str | None = None
    context_tokens: int | None = None
    timeout_seconds: int | None = None


NO_OPTIONS = TurnOptions()


def send_message(
    cli: CliContext,
    text: str,
    session: SessionKey,
    message_id: MessageId,
    *,
    options: TurnOptions = NO_OPTIONS,
    mode: QueueMode | None = None,
    thread: str = "",
    files: Sequence[Path] = (),
) -> Queued | Rejected | Answered:
    """Send a message as the owner of this installation.

    Raises:
        BadInput: the text, the command, the model or a file cannot be used.
        StoreUnavailable: Redis did not answer; the hint has the id under which sending again is safe.
    """
    # Bytes that are not UTF-8 can be neither stored nor looked up.
    message_id = MessageId(replace_surrogates(message_id))
    model = None if options.model is None else _full_name(cli, replace_surrogates(options.model))
    intake = cli.intake  # raises here if no Redis is known, when nothing has been sent
    attachments = _attached(cli, files, session, message_id) if files else ()
    try:
        return intake.accept(
            text,
            session=session,
            route=Route(channel=CHANNEL, thread_id=replace_surrogates(thread)),
            authority=Authority.OWNER,
            message_id=message_id,
            model=model,
            extra_system_prompt=options.system,
            thinking=options.thinking,
            context_tokens=options.context_tokens,
            timeout_seconds=options.timeout_seconds,
            mode=mode,
            attachments=attachments,
        )
    except StoreUnavailable as error:
        hint = f"it may have been stored; sending it again with --message-id {message_id} does not duplicate it"
        raise StoreUnavailable(f"the message was not accepted: {error.message}", hint=hint) from error


def _attached(cli: CliContext, files: Sequence[Path], session: SessionKey, message: MessageId) -> list[Attachment]:
    from pathlib import Path

    from openclaw_workers.config.resolve import workspace_dir
    from openclaw_workers.engine.intake.attachments import attach

    own = cli.stores.reader.row(session).get("spawnedWorkspaceDir")  # a sub-agent may have its own directory
    agents = workspace_dir(cli.loaded.settings, agent_of(session), cli.loaded.state_dir)
    return attach(files, Path(own) if own else agents, message)


def _full_name(cli: CliContext, model: str) -> str:
    """Resolve an alias before anything is stored, attachments included."""
    from openclaw_workers.config.model_names import find_model

    return find_model(cli.loaded.settings, model)


def answer_stream_for(cli: CliContext, session: SessionKey) -> AnswerStream:
    """A screen with the session's `/verbose` and `/usage` levels."""
    if cli.json:
        return AnswerStream(is_quiet=True)
    try:
        row = cli.stores.reader.row(session)
    except StoreUnavailable:
        return AnswerStream()
    return AnswerStream(verbose=row.get("verboseLevel") or "on", usage=row.get("responseUsage") or "off")


def show(
    cli: CliContext, conversation: Conversation, screen: AnswerStream, *, on_quiet: Callable[[], None] = lambda: None
) -> Answer:
    """Show a turn until it has ended, and return its answer.

    Raises:
        WaitOver: the time is up and the run continues.
        NotFound: neither the message nor the run is known.
    """
    for update in cli.conversations.follow(conversation.steps()):
        match update:
            case Ended():
                return answer_of(conversation.session, finish(screen, update))
            case Quiet():
                on_quiet()
            case _:
                display(screen, update)
    raise AssertionError("a conversation ends with Ended")


def finish(screen: AnswerStream, ended: Ended) -> Ended:
    """Bring the screen to the committed answer."""
    screen.finish(ended.run.text if ended.run else None)
    if ended.run:
        screen.show_cost(ended.run)
    return ended


def display(screen: AnswerStream, update: Update) -> None:
    match update:
        case Note(text):
            screen.note(text)
        case Gap():
            screen.mark_gap()
        case Event():
            screen.show(update)


def answer_of(session: SessionKey, ended: Ended) -> Answer:
    if ended.run is not None:
        return answer_of_run(ended.run)
    assert ended.receipt is not None, "a conversation ends with a run or a receipt"
    return answer_without_run(session, ended.receipt)
