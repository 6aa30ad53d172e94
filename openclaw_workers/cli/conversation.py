"""Sending a message and showing the answer, for every command that talks to an agent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from openclaw_workers.cli.output import Exit, echo_json, report
from openclaw_workers.cli.render.answer_stream import AnswerStream
from openclaw_workers.cli.render.standard_output import WaitingOutput, shows_waiting
from openclaw_workers.cli.render.text import printable
from openclaw_workers.cli.render.turn_status import WORKER, TurnStatus
from openclaw_workers.client.protocol import Ended, Gap, Note
from openclaw_workers.domain.events import Event
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.errors import StoreRefused, StoreUnavailable
from openclaw_workers.views.answers import Answer, answer_json, answer_of_run, answer_without_run

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openclaw_workers.cli.backend.protocol import Backend, OutgoingText
    from openclaw_workers.cli.context import CliContext
    from openclaw_workers.client.follow_message import Conversation
    from openclaw_workers.client.protocol import Update
    from openclaw_workers.domain.accepted import Answered, Queued, Rejected


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
        click.echo(printable(answer.text))
    report_error(answer)


def report_error(answer: Answer) -> None:
    """Say on stderr why there is no answer."""
    if answer.error:
        report(str(answer.error["type"]), str(answer.error["message"]), answer.error["hint"], as_json=False)


def session_id_of(cli: CliContext, key: SessionKey) -> str | None:
    return cli.backend.row(key).get("sessionId")


def send_message(cli: CliContext, message: OutgoingText) -> Queued | Rejected | Answered:
    """Send a message of the person at the terminal.

    Raises:
        BadInput: the text, the command, the model or a file cannot be used.
        StoreUnavailable: nobody answered; the hint has the id under which sending again is safe.
    """
    backend = cli.backend  # raises here if no installation is known, when nothing has been sent
    backend.check()
    try:
        return backend.send(message)
    except StoreUnavailable as error:
        again = f"sending it again with --message-id {message.message_id} does not duplicate it"
        # A refusal is an answer, so nothing was stored. After silence nobody knows.
        hint = error.hint if isinstance(error, StoreRefused) else f"it may have been stored; {again}"
        raise StoreUnavailable(f"the message was not accepted: {error.message}", hint=hint) from error


def answer_stream_for(cli: CliContext, session: SessionKey, model: str | None = None) -> AnswerStream:
    """A screen with the session's `/verbose` and `/usage` levels. `model`: the one that the message asks for."""
    if cli.json:
        return AnswerStream(is_quiet=True)
    try:
        row = cli.backend.row(session)
    # These levels only change how the answer is shown; sending reports the problem itself.
    except StoreUnavailable:
        return AnswerStream()
    status = TurnStatus(model or model_of(cli.backend, row, session)) if shows_waiting() else None
    return AnswerStream(
        verbose=row.get("verboseLevel") or "on",
        usage=row.get("responseUsage") or "off",
        output=WaitingOutput(status) if status else None,
        status=status,
    )


def model_of(backend: Backend, row: Mapping[str, str], session: SessionKey) -> str:
    """The model of the session's next turn, as provider/model; empty if its agent is no longer configured."""
    if name := row.get("modelOverride"):
        provider = row.get("providerOverride")
        return f"{provider}/{name}" if provider else name
    agent = agent_of(session)
    return next((str(each["model"]) for each in backend.agents()["agents"] if each["agentId"] == agent), "")


def show(cli: CliContext, conversation: Conversation, screen: AnswerStream) -> Answer:
    """Show a turn until it has ended, and return its answer.

    Raises:
        WaitOver: the time is up and the run continues.
        NotFound: neither the message nor the run is known.
    """
    screen.wait_for(WORKER)
    try:
        for update in cli.backend.conversations.follow(conversation.steps()):
            if isinstance(update, Ended):
                return answer_of(conversation.session, finish(screen, update))
            display(screen, update)
    finally:
        screen.close()
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
