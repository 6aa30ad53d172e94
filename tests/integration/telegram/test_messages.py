"""From a message in Telegram to the answer, with whole processes and the real library."""

from __future__ import annotations

import json

from openclaw_workers.domain.transcript import UserEntry
from tests.integration.telegram.conftest import MakeFleet
from tests.support.fake_telegram import FakeTelegram
from tests.support.fake_telegram_updates import ADA, BOB, StoredFile, document, photo, voice
from tests.support.programs import program, say
from tests.support.telegram_fleet import BOT, TelegramFleet
from tests.support.waiting import eventually

SESSION = "agent:main:telegram:dm:1001"
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 100


def answer(text: str) -> str:
    """A message that a scripted model answers with this text."""
    return json.dumps(program(say(text)))


def attached(fleet: TelegramFleet) -> list[tuple[str, bytes]]:
    """Files that came with messages of Ada's session, as a worker finds them."""
    entries = fleet.transcript(SESSION)
    files = [each for entry in entries if isinstance(entry, UserEntry) for each in entry.attachments]
    paths = [(file.name, fleet.workspace / file.path) for file in files]
    return [(name, path.read_bytes()) for name, path in paths if path.exists()]


def test_a_message_is_answered_once(fleet: TelegramFleet, telegram: FakeTelegram) -> None:
    telegram.bot.say(answer("**Hello** Ada"))
    updates = list(telegram.bot.updates.values())
    assert fleet.replies() == ["Hello Ada"]
    assert telegram.bot.sent[0].entities == [{"type": "bold", "offset": 0, "length": 5}]
    assert [run.session_key for run in fleet.turns()] == [SESSION]
    eventually(lambda: [entry.state for entry in fleet.outbox()] == ["sent"], within=5)

    telegram.bot.redeliver(*updates)
    telegram.bot.say(answer("second"))
    assert fleet.replies(count=2) == ["Hello Ada", "second"]
    assert len(fleet.turns()) == 2
    row = fleet.stores.reader.row(fleet.turns()[0].session_key)
    assert (row["lastChannel"], row["lastTo"], row["lastAccountId"]) == ("telegram", "1001", "default")


def test_a_command_is_answered_without_a_turn_and_once(fleet: TelegramFleet, telegram: FakeTelegram) -> None:
    telegram.bot.say("/status")
    updates = list(telegram.bot.updates.values())
    (text,) = fleet.replies()
    assert "state   idle" in text
    telegram.bot.redeliver(*updates)
    telegram.bot.say("/nonsense")
    assert "/nonsense" in fleet.replies(count=2)[1]
    assert fleet.turns() == []
    assert len(telegram.bot.sent) == 2
    commands = {each["command"] for each in telegram.bot.commands}
    assert {"status", "stop", "model", "new"} <= commands


def test_files_reach_the_agents_workspace(fleet: TelegramFleet, telegram: FakeTelegram) -> None:
    telegram.bot.files["p1"] = StoredFile(PNG, "photos/1.jpg")
    telegram.bot.files["d1"] = StoredFile(b"text", "documents/1")
    telegram.bot.say(answer("seen"), extra=photo("p1", len(PNG)))
    telegram.bot.say("", extra=document("d1", "../../notes.txt", "text/plain", 4))
    eventually(lambda: len(attached(fleet)) == 2, within=30)
    assert [content for _, content in attached(fleet)] == [PNG, b"text"]
    assert attached(fleet)[1][0] == "notes.txt"
    assert fleet.heard(SESSION)[1] == "[notes.txt]"


def test_an_album_is_one_turn_with_all_its_files(fleet: TelegramFleet, telegram: FakeTelegram) -> None:
    for number in range(3):
        telegram.bot.files[f"p{number}"] = StoredFile(PNG, f"photos/{number}.jpg")
        words = answer("all three") if number == 0 else ""
        telegram.bot.say(words, extra={**photo(f"p{number}", len(PNG)), "media_group_id": "7"})
    assert fleet.replies() == ["all three"]
    assert len(fleet.turns()) == 1
    assert len(attached(fleet)) == 3


def test_a_file_that_is_too_large_or_gone_is_named_to_the_agent(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = make_fleet(channels={"telegram": {"mediaMaxMb": 1}})
    fleet.worker("main", wait=False)
    fleet.ingress()
    telegram.bot.say("look", extra=document("large", "large.bin", "application/zip", 2 << 20))
    telegram.bot.say("and", extra=document("gone", "gone.bin", "application/zip", 5))
    eventually(lambda: len(fleet.heard(SESSION)) == 2, within=30)
    first, second = fleet.heard(SESSION)
    assert first == "look\n[document large.bin was not loaded: it has more than 1 MB]"
    assert second.startswith("and\n[document gone.bin was not loaded:")
    assert telegram.called("download") == []


def test_a_slow_download_holds_up_its_own_chat_only(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = make_fleet(channels={"telegram": {"allowFrom": [str(BOB.id)]}})
    fleet.worker("main", wait=False)
    fleet.ingress()
    telegram.bot.files["slow"] = StoredFile(PNG, "photos/slow.jpg", seconds=4)
    telegram.bot.say(answer("with the file"), extra=photo("slow", len(PNG)))
    telegram.bot.say(answer("behind it"))
    telegram.bot.say(answer("quick"), BOB)
    assert fleet.replies(BOB.id) == ["quick"]
    assert telegram.bot.visible(ADA.id) == []
    assert fleet.replies(count=2) == ["with the file", "behind it"]


def test_a_voice_note_that_nobody_can_hear_is_said_to_be_so(fleet: TelegramFleet, telegram: FakeTelegram) -> None:
    telegram.bot.files["v1"] = StoredFile(b"OggS", "voice/1.oga")
    telegram.bot.say(extra=voice("v1"))
    assert "cannot listen" in fleet.replies()[0]
    assert fleet.turns() == []


def test_an_edited_message_is_ignored_unless_the_setting_says_otherwise(
    make_fleet: MakeFleet, telegram: FakeTelegram
) -> None:
    fleet = make_fleet(channels={"telegram": {"edits": "follow"}})
    fleet.worker("main", wait=False)
    fleet.ingress()
    message = telegram.bot.say(answer("first"))
    assert fleet.replies() == ["first"]
    telegram.bot.edit(message, answer("edited"))
    assert fleet.replies(count=2) == ["first", "edited"]


def test_edits_are_ignored_by_default_and_stickers_are_described(fleet: TelegramFleet, telegram: FakeTelegram) -> None:
    message = telegram.bot.say(answer("first"))
    assert fleet.replies() == ["first"]
    telegram.bot.edit(message, answer("edited"))
    telegram.bot.say(answer("next"))
    assert fleet.replies(count=2) == ["first", "next"]
    assert len(fleet.turns()) == 2


def test_a_reply_brings_what_it_replies_to(fleet: TelegramFleet, telegram: FakeTelegram) -> None:
    earlier = telegram.bot.say(answer("first"))
    fleet.replies()
    telegram.bot.say("why?", reply_to=earlier, quote="this part")
    fleet.replies(count=2)
    heard = fleet.heard(SESSION)[1]
    assert "this part" in heard
    assert heard.endswith("\nwhy?")


def test_several_bots_have_their_own_people(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    other = telegram.add_bot("5151:the-token-of-the-second-bot-xxxxxxx", "second_bot")
    account = {"botToken": other.token, "owners": [str(ADA.id)]}
    fleet = make_fleet(
        channels={"telegram": {"accounts": {"second": account}}},
        session={"dmScope": "per-account-channel-peer"},
    )
    fleet.worker("main", wait=False)
    fleet.ingress()
    telegram.bot.say(answer("of the first"))
    other.say(answer("of the second"))
    assert fleet.replies() == ["of the first"]
    eventually(lambda: other.texts() == ["of the second"], within=30)
    keys = {run.session_key for run in fleet.turns()}
    assert keys == {"agent:main:telegram:default:dm:1001", "agent:main:telegram:second:dm:1001"}


def test_a_poison_update_is_noted_and_does_not_stop_the_bot(fleet: TelegramFleet, telegram: FakeTelegram) -> None:
    telegram.bot.deliver({"message": {"message_id": "no number", "chat": {"id": ADA.id}}})
    telegram.bot.say(answer("alive"))
    assert fleet.replies() == ["alive"]
    (note,) = fleet.stores.channels.refused(BOT)
    assert note["chat"] == str(ADA.id)


def test_rich_messages_and_the_menu_are_settings(make_fleet: MakeFleet, telegram: FakeTelegram) -> None:
    fleet = make_fleet(channels={"telegram": {"richMessages": True, "commandMenu": False}})
    fleet.worker("main", wait=False)
    fleet.ingress()
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    telegram.bot.say(answer(table))
    assert fleet.replies() == [table]
    assert len(telegram.called("sendRichMessage")) == 1
    assert telegram.called("setMyCommands") == []
