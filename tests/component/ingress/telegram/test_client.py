"""What a failed call to Telegram means: nothing was sent, or nobody knows. The real library runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest
from telegram.error import TelegramError

from ingress.channels.adapter import Part, SendLater, SendRefused
from ingress.channels.telegram.client import Target, TelegramClient
from ingress.channels.telegram.failures import ChatUnavailable
from ingress.channels.telegram.render import render
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import Button, OutgoingFile, OutgoingKind, OutgoingMessage
from tests.support.fake_telegram import TOKEN, Behaviour, Cut, FakeTelegram, Gateway, Refuse
from tests.support.fake_telegram_updates import StoredFile
from tests.support.redis_server import free_port

T = TypeVar("T")

HI = Part(payload={"text": "hi", "entities": [{"type": "bold", "offset": 0, "length": 2}]})
ADA = Target(1001)


def run(telegram: FakeTelegram | str, act: Callable[[TelegramClient], Awaitable[T]]) -> T:
    async def main() -> T:
        client = TelegramClient(TOKEN, telegram if isinstance(telegram, str) else telegram.url)
        try:
            return await act(client)
        finally:
            await client.close()

    return asyncio.run(main())


def message(text: str, **more: object) -> OutgoingMessage:
    route = Route(channel="telegram", to="1001")
    return OutgoingMessage.model_validate({"id": "1", "kind": OutgoingKind.REPLY, "route": route, "text": text, **more})


def test_a_text_arrives_with_its_entities(telegram: FakeTelegram) -> None:
    assert run(telegram, lambda client: client.send(ADA, HI)) == str(telegram.bot.sent[0].id)
    assert telegram.bot.sent[0].text == "hi"
    assert telegram.bot.sent[0].entities == [{"type": "bold", "offset": 0, "length": 2}]


def test_a_reply_names_its_message_its_topic_and_its_buttons(telegram: FakeTelegram) -> None:
    (part,) = render(message("yes?", reply_to="55", buttons=((Button(text="Yes", data="/approve 1"),),)))
    run(telegram, lambda client: client.send(Target(-1007, 9), part))
    (sent,) = telegram.bot.sent
    assert (sent.reply_to, sent.topic) == (55, 9)
    assert sent.buttons == [[{"text": "Yes", "callback_data": "/approve 1"}]]


def test_files_are_sent_as_documents_and_pictures_as_photos(telegram: FakeTelegram) -> None:
    text = OutgoingFile(id="1", name="a.txt", media_type="text/plain", size=2)
    picture = OutgoingFile(id="2", name="b.png", media_type="image/png", size=2)

    async def send(client: TelegramClient) -> None:
        await client.send(ADA, Part(file=text, content=b"hi"))
        await client.send(ADA, Part(file=picture, content=b"\x89P"))

    run(telegram, send)
    assert [each.file for each in telegram.bot.sent] == [("a.txt", b"hi"), ("b.png", b"\x89P")]
    assert [call.method for call in telegram.calls] == ["sendDocument", "sendPhoto"]


def test_a_long_answer_arrives_whole(telegram: FakeTelegram) -> None:
    text = "\n\n".join(f"**{number}** " + "word 😀 " * 60 for number in range(60))
    parts = render(message(text))

    async def send(client: TelegramClient) -> None:
        for part in parts:
            await client.send(ADA, part)

    run(telegram, send)
    assert len(telegram.bot.sent) == len(parts) > 5
    assert "".join(telegram.bot.texts()).count("word") == 60 * 60


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (Refuse(429, "Too Many Requests: retry after 7", retry_after=7), SendLater),
        (Refuse(403, "Forbidden: bot was blocked by the user"), ChatUnavailable),
        (Refuse(400, "Bad Request: chat not found"), ChatUnavailable),
        (Refuse(400, "Bad Request: message thread not found"), SendRefused),
        (Refuse(401, "Unauthorized"), SendRefused),
        (Refuse(500, "Internal Server Error: restart"), SendRefused),
        (Gateway(502), TelegramError),
        (Cut(after=True), TelegramError),
        (Cut(after=False), TelegramError),
    ],
)
def test_each_failure_says_whether_something_was_sent(
    telegram: FakeTelegram, behaviour: Behaviour, error: type[Exception]
) -> None:
    telegram.script("sendMessage", behaviour)
    with pytest.raises(error) as raised:
        run(telegram, lambda client: client.send(ADA, HI))
    assert type(raised.value) is error or error is TelegramError
    assert isinstance(raised.value, SendLater | SendRefused) or error is TelegramError


def test_the_time_that_telegram_asks_for_is_passed_on(telegram: FakeTelegram) -> None:
    telegram.script("sendMessage", Refuse(429, "Too Many Requests", retry_after=7))
    with pytest.raises(SendLater) as raised:
        run(telegram, lambda client: client.send(ADA, HI))
    assert raised.value.seconds == 7


@pytest.mark.parametrize(("code", "permanent"), [(403, True), (400, True), (401, False), (500, False)])
def test_only_what_telegram_never_takes_is_permanent(telegram: FakeTelegram, code: int, permanent: bool) -> None:
    telegram.script("sendMessage", Refuse(code, "no"))
    with pytest.raises(SendRefused) as raised:
        run(telegram, lambda client: client.send(ADA, HI))
    assert raised.value.permanent is permanent


def test_a_server_that_cannot_be_reached_got_nothing() -> None:
    with pytest.raises(SendRefused) as raised:
        run(f"http://127.0.0.1:{free_port()}", lambda client: client.send(ADA, HI))
    assert not raised.value.permanent
    assert TOKEN not in raised.value.reason


def test_a_group_that_moved_gets_its_message_at_the_new_place(telegram: FakeTelegram) -> None:
    telegram.bot.moved[-5] = -1005
    run(telegram, lambda client: client.send(Target(-5), HI))
    assert [each.chat for each in telegram.bot.sent] == [-1005]


def test_an_edit_that_changes_nothing_is_no_error(telegram: FakeTelegram) -> None:
    async def edit(client: TelegramClient) -> None:
        sent = await client.send(ADA, HI)
        await client.edit(ADA, sent, HI)
        await client.edit(ADA, sent, Part(payload={"text": "ho"}))
        await client.delete(ADA, sent)

    run(telegram, edit)
    assert (telegram.bot.sent[0].edits, telegram.bot.visible()) == (["ho"], [])


def test_a_rich_message_that_a_server_does_not_know_is_sent_as_text(telegram: FakeTelegram) -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    (part,) = render(message(table), rich=True)
    telegram.script("sendRichMessage", Refuse(404, "Not Found"))

    async def send(client: TelegramClient) -> None:
        await client.send(ADA, part)
        await client.send(ADA, part)

    run(telegram, send)
    assert telegram.bot.texts() == ["a | b\n--+--\n1 | 2", table]


def test_a_file_that_is_too_large_is_not_loaded(telegram: FakeTelegram) -> None:
    telegram.bot.files["small"] = StoredFile(b"hello", "documents/small.txt")
    telegram.bot.files["large"] = StoredFile(b"x" * 2000, "documents/large.txt")

    async def load(client: TelegramClient) -> tuple[bytes | None, bytes | None]:
        return await client.download("small", 1000), await client.download("large", 1000)

    assert run(telegram, load) == (b"hello", None)
    assert [call.params["path"] for call in telegram.called("download")] == ["documents/small.txt"]
