"""After the files: start everything, get the first answer, and let the owner in who writes from Telegram."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from openclaw_workers.cli.backend.protocol import OutgoingText
from openclaw_workers.cli.conversation import answer_stream_for, report_error, send_message, show
from openclaw_workers.cli.local.bots import bot_addresses
from openclaw_workers.cli.local.detach import start_detached
from openclaw_workers.client.deadline import Deadline
from openclaw_workers.client.follow_message import Conversation
from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.ids import new_message_id
from openclaw_workers.state_dir import prepare_state_dir, running_pid

if TYPE_CHECKING:
    from openclaw_workers.cli.context import CliContext
    from openclaw_workers.views.answers import Answer

HELLO = "Hello! Say in one sentence who you are."
ANSWER_SECONDS = 120
PAIRING_SECONDS = 600
LOOK_SECONDS = 1.0


def start(cli: CliContext) -> bool:
    """Start everything in the background; False if it runs already, and gets the new configuration by itself.

    Raises:
        StartFailed: it ended before it was ready.
    """
    state_dir = cli.host.state_dir
    if running_pid(state_dir) is not None:
        return False
    prepare_state_dir(state_dir)
    start_detached(state_dir, ["--state-dir", str(state_dir), "--config", str(cli.host.source), "up"])
    return True


def first_answer(cli: CliContext) -> Answer | None:
    """Say hello and show the answer; None if the message was not taken.

    Raises:
        WaitOver: no answer came.
    """
    session = cli.backend.session_key("", "", "")
    sent = send_message(cli, OutgoingText(text=HELLO, session=session, message_id=new_message_id()))
    if not isinstance(sent, Queued):
        return None
    conversation = Conversation(
        session,
        message=sent.message_id,
        run=sent.run,
        after=sent.event_id,
        deadline=Deadline(ANSWER_SECONDS),
    )
    answer = show(cli, conversation, answer_stream_for(cli, session))
    if not cli.json:
        report_error(answer)
    return answer


def bot_address(cli: CliContext) -> str | None:
    """Where people find the bot, if Telegram has said so."""
    return next(iter(bot_addresses(cli.loaded.settings, cli.redis_url).values()), None)


def pair(cli: CliContext, address: str | None) -> dict[str, Any] | None:
    """Wait until somebody writes to the bot, and let them in. Ctrl-C skips it."""
    click.echo(f"Write something to your bot{f' at {address}' if address else ''}. Ctrl-C skips this.", err=True)
    deadline, asked = time.monotonic() + PAIRING_SECONDS, set[str]()
    try:
        while time.monotonic() < deadline:
            for each in cli.backend.pairings()["requests"]:
                who = f"{each['name'] or 'somebody'} ({each['subject']})"
                # A stranger who writes to the bot is refused once and not asked about again.
                if each["code"] in asked:
                    continue
                asked.add(each["code"])
                if click.confirm(f"{who} asks to be let in with the code {each['code']}. Is this you?", err=True):
                    admitted = cli.backend.approve(each["code"], share_session=False)
                    click.echo(f"{who} is let in; the bot answers from now on.", err=True)
                    return admitted
            time.sleep(LOOK_SECONDS)
    except (KeyboardInterrupt, click.Abort):
        click.echo(err=True)
    return None
