"""`ocw agent`: one message in, one answer out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NoReturn

import click

from openclaw_workers.cli.backend.protocol import OutgoingText, TurnOptions
from openclaw_workers.cli.context import CliContext
from openclaw_workers.cli.conversation import (
    answer_stream_for,
    exit_code_of,
    print_answer,
    send_message,
    session_id_of,
    show,
)
from openclaw_workers.cli.keyboard import check_argument, check_stdin, read_stdin
from openclaw_workers.cli.output import (
    Exit,
    echo_json,
    leave,
    report,
)
from openclaw_workers.cli.render.answer_stream import AnswerStream
from openclaw_workers.cli.tree_wait import Interrupted, wait_for_tree
from openclaw_workers.client.deadline import Deadline, WaitOver
from openclaw_workers.client.follow_message import Conversation
from openclaw_workers.domain.accepted import Answered, Queued, Rejected
from openclaw_workers.domain.ids import MessageId, new_message_id
from openclaw_workers.errors import BadInput, OpenClawError, StoreUnavailable
from openclaw_workers.views.answers import Answer, answer_json, rejection
from openclaw_workers.views.errors import error_json


def send_one(
    cli: CliContext,
    *,
    words: tuple[str, ...],
    message: str | None,
    agent_id: str,
    session: str,
    thread: str,
    model: str | None,
    system: str | None,
    thinking: str | None,
    context_tokens: int | None,
    run_timeout: int | None,
    files: tuple[Path, ...],
    wait_for: str | None,
    no_wait: bool,
    timeout: float | None,
    message_id: str | None,
) -> None:
    """Send one message, and print the answer as it arrives or what has become of it."""
    if no_wait and wait_for:
        raise BadInput("--wait and --no-wait exclude each other", hint="leave one of them out")
    text = _text(words, message)
    try:
        key = cli.backend.session_key(session, agent_id, thread)
    except StoreUnavailable as error:  # where the message goes is in the configuration, which is in Redis
        raise StoreUnavailable(f"the message was not accepted: {error.message}", hint=error.hint) from error
    ident = MessageId(message_id or new_message_id())
    options = TurnOptions(model, system, thinking, context_tokens, run_timeout)
    outgoing = OutgoingText(text=text, session=key, message_id=ident, options=options, thread=thread, files=files)
    match send_message(cli, outgoing):
        case Answered(text):
            _finish(cli, Answer(key, "command", text=text))
        case Rejected(_, reason):
            _finish(cli, rejection(key, reason))
        case Queued() as queued if no_wait:
            _print_accepted(cli, queued)
        case Queued() as queued:
            # A program that reads JSON wants one answer soon; a person wants to see the end.
            is_tree = wait_for == "tree" or (wait_for is None and not cli.json)
            _finish(cli, _answer(cli, queued, timeout, model, is_tree=is_tree), is_text_shown=True)


def _text(words: tuple[str, ...], message: str | None) -> str:
    """The message, from where it was given.

    Raises:
        BadInput: it was given twice or not at all, or is not text in UTF-8.
    """
    if words and message is not None:
        raise BadInput("the message is given twice", hint='write `ocw agent "hello"` or `ocw agent -m "hello"`')
    given = " ".join(words) if words else message
    if given is None:
        check_stdin()
        if sys.stdin.isatty():
            raise BadInput("there is no message", hint='write `ocw agent "hello"`; `ocw chat` starts a conversation')
    return read_stdin() if given is None or given == "-" else check_argument(given)


def _answer(cli: CliContext, queued: Queued, timeout: float | None, model: str | None, *, is_tree: bool) -> Answer:
    deadline = Deadline(timeout)
    conversation = Conversation(
        queued.session_key,
        message=queued.message_id,
        run=queued.run,
        after=queued.event_id,
        deadline=deadline,
    )
    # Until the real one is known, so that Ctrl-C finds one to close.
    screen = AnswerStream(is_quiet=True)
    try:
        screen = answer_stream_for(cli, queued.session_key, model)
        answer = show(cli, conversation, screen)
    except WaitOver as error:
        screen.finish(None)
        _leave(cli, conversation, error, Exit.WAIT_OVER)
    except KeyboardInterrupt:
        screen.finish(None)
        _leave(cli, conversation, _interrupted(conversation), Exit.INTERRUPTED)
    if not is_tree or answer.run is None:
        return answer
    return wait_for_tree(cli, answer, conversation.after, deadline)


def _interrupted(conversation: Conversation) -> Interrupted:
    if conversation.run:
        what, stop = f"run {conversation.run}", f"ocw runs stop {conversation.run}"
    else:
        what, stop = "the message", f"ocw agent --session {conversation.session} -m /stop"
    return Interrupted(f"interrupted; {what} continues in {conversation.session}", hint=f"stop it with `{stop}`")


def _leave(cli: CliContext, conversation: Conversation, error: OpenClawError, code: Exit) -> NoReturn:
    """Stop waiting for a run that continues, and report its state."""
    if cli.json:
        try:
            found = cli.backend.some_runs([conversation.run] if conversation.run else [])
            session_id = session_id_of(cli, conversation.session)
        # Leaving must work even if Redis is the reason for it.
        except StoreUnavailable:
            found, session_id = [], None
        status = found[0]["state"] if found else "queued"
        unfinished = Answer(conversation.session, status, conversation.run, session_id, error=error_json(error))
        echo_json(answer_json(unfinished))
    else:
        report(type(error).__name__, error.message, error.hint, as_json=False)
    leave(code)


def _print_accepted(cli: CliContext, queued: Queued) -> None:
    if cli.json:
        accepted = Answer(queued.session_key, "accepted", queued.run, session_id_of(cli, queued.session_key))
        echo_json(answer_json(accepted))
    elif queued.run:
        click.echo(f"accepted as {queued.run} in {queued.session_key}; `ocw runs watch {queued.run}` shows it")
    else:
        click.echo(f"accepted; {queued.session_key} has a turn already, and answers it in that turn or after it")


def _finish(cli: CliContext, answer: Answer, *, is_text_shown: bool = False) -> NoReturn:
    print_answer(cli, answer, is_text_shown=is_text_shown)
    leave(exit_code_of(answer))
