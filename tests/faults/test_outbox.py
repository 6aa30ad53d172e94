"""Senders that are killed, paused or doubled: each message is sent once, or marked unknown and shown (I6)."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
import redis as redis_py

from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingFile, OutgoingKind, OutgoingMessage
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.outbox import Outbox
from tests.support.redis_server import RedisServer
from tests.support.sender_process import STEPS, SenderPlan
from tests.support.waiting import eventually

CHATS = ("1", "2")


class Mail:
    """An outbox on a Redis of its own, a channel that is a file, and sender processes."""

    def __init__(self, server: RedisServer, namespace: str, place: Path) -> None:
        self.server = server
        self.redis = server.client()
        self.keys = Keys(namespace)
        self.outbox = Outbox(self.redis, self.keys)
        self.plan = SenderPlan(server.url, namespace, str(place / "channel"), gate_file=str(place / "gate"))
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, **how: object) -> subprocess.Popen[bytes]:
        process = replace(self.plan, **how).start()  # type: ignore[arg-type]
        self.started.append(process)
        return process

    def put(self, text: str, to: str = "1", files: tuple[OutgoingFile, ...] = ()) -> None:
        """The text is also the id of the message."""
        route = Route(channel="telegram", account_id="bot", to=to)
        self.outbox.put(OutgoingMessage(id=text, kind=OutgoingKind.REPLY, route=route, text=text, files=files))

    def states(self) -> dict[str, str]:
        return {entry.id: entry.state.value for entry in self.outbox.entries(with_sent=True, limit=1000)}

    def wait_until_drained(self, *, within: float = 20) -> dict[str, str]:
        eventually(lambda: not {"queued", "sending"} & set(self.states().values()), within=within)
        return self.states()

    def texts(self, to: str) -> list[str]:
        return [each["text"] for each in self.plan.arrived() if each["to"] == to]

    def end(self) -> None:
        for process in self.started:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT)
            process.kill()
            process.wait()
        self.redis.close()


@pytest.fixture
def mail(namespace: str, tmp_path: Path) -> Iterator[Mail]:
    with RedisServer() as server:
        mail = Mail(server, namespace, tmp_path)
        yield mail
        mail.end()


def put_all(mail: Mail) -> None:
    for number in range(4):
        for chat in CHATS:
            mail.put(f"{chat}-{number}-a§{chat}-{number}-b", to=chat)


def in_order(chat: str) -> list[str]:
    return [f"{chat}-{number}-{part}" for number in range(4) for part in "ab"]


@pytest.mark.parametrize(
    ("step", "part"),
    [
        ("claimed", "1-0-a"),  # later messages of the route come with the record of the one before
        *((step, "1-1-a") for step in STEPS[1:]),
        ("marked", "1-1-b"),
        ("answered", "1-1-b"),
    ],
)
def test_a_sender_killed_at_any_step_sends_nothing_twice(mail: Mail, step: str, part: str) -> None:
    put_all(mail)
    dying = mail.start(die_after=step, die_with=part)
    assert dying.wait(20) == -signal.SIGKILL
    mail.start()
    states = mail.wait_until_drained()

    unknown = {text for text, state in states.items() if state == "unknown"}
    assert set(states.values()) <= {"sent", "unknown"}
    of_chat_1 = {text for text in unknown if text.startswith("1")}
    assert of_chat_1 == ({"1-1-a§1-1-b"} if step in ("marked", "arrived", "answered") else set())
    for chat in CHATS:
        arrived = mail.texts(chat)
        assert max(Counter(arrived).values()) == 1
        missing = set(in_order(chat)) - set(arrived)
        assert len(missing) <= 1, "only what was about to be sent"
        assert all(any(part in text for text in unknown) for part in missing), "and that is shown"
        assert arrived == [part for part in in_order(chat) if part not in missing]
    assert (part in mail.texts("1")) == (step != "marked")


@pytest.mark.parametrize("step", ["marked", "arrived", "answered"])
def test_a_channel_that_dedupes_leaves_nothing_unknown(mail: Mail, step: str) -> None:
    put_all(mail)
    assert mail.start(die_after=step, die_with="1-1-a", dedupes=True).wait(20) == -signal.SIGKILL
    mail.start(dedupes=True)
    assert set(mail.wait_until_drained().values()) == {"sent"}
    assert mail.texts("1") == in_order("1")


def test_another_sender_takes_over_within_seconds(mail: Mail) -> None:
    first = mail.start(lease_seconds=5.0)
    eventually(mail.outbox.senders, within=10)
    mail.put("gated")
    mail.put("after")
    eventually(lambda: mail.texts("1") == ["gated"], within=10)
    mail.start(lease_seconds=5.0)
    first.kill()
    eventually(lambda: mail.texts("1") == ["gated", "after"], within=10)
    assert mail.wait_until_drained() == {"gated": "unknown", "after": "sent"}


def test_a_sender_that_was_only_paused_is_believed_and_sends_nothing_twice(mail: Mail) -> None:
    paused = mail.start()
    mail.put("gated")
    mail.put("after")
    eventually(lambda: mail.texts("1") == ["gated"], within=10)
    os.kill(paused.pid, signal.SIGSTOP)
    mail.start()
    eventually(lambda: mail.states() == {"gated": "unknown", "after": "sent"}, within=15)
    Path(mail.plan.gate_file).touch()
    os.kill(paused.pid, signal.SIGCONT)
    eventually(lambda: mail.states() == {"gated": "sent", "after": "sent"}, within=10)
    assert mail.texts("1") == ["gated", "after"]


def test_several_senders_on_the_same_chats_send_once_and_in_order(mail: Mail) -> None:
    for _ in range(3):
        mail.start()
    for number in range(100):
        for chat in CHATS:
            mail.put(f"{chat}-{number}", to=chat)
    assert set(mail.wait_until_drained(within=40).values()) == {"sent"}
    for chat in CHATS:
        assert mail.texts(chat) == [f"{chat}-{number}" for number in range(100)]


def test_senders_killed_again_and_again_lose_and_double_nothing(mail: Mail) -> None:
    for number in range(60):
        mail.put(f"1-{number}")
    for number in (3, 16, 33, 50):
        dying = mail.start(die_after=STEPS[number % len(STEPS)], die_with=f"1-{number}")
        assert dying.wait(20) == -signal.SIGKILL
    mail.start()
    states = mail.wait_until_drained(within=40)
    arrived = Counter(mail.texts("1"))
    assert max(arrived.values()) == 1
    assert {text for text in states if not arrived[text]} <= {text for text in states if states[text] == "unknown"}
    assert mail.texts("1") == sorted(arrived, key=lambda text: int(text.partition("-")[2]))


def test_a_file_of_8_mb_survives_a_killed_sender(mail: Mail) -> None:
    content = os.urandom(8 << 20)
    file = mail.outbox.files.store("photo.bin", "application/x", content)
    mail.put("look", files=(file,))
    assert mail.start(die_after="recorded", die_with="look").wait(30) == -signal.SIGKILL
    mail.start()
    assert mail.wait_until_drained(within=30) == {"look": "sent"}
    text, photo = mail.plan.arrived()
    assert (text["text"], photo["size"]) == ("look", len(content))
    assert base64.b64decode(photo["ends"]) == content[:8] + content[-8:]


def test_redis_restarted_in_the_middle_of_a_send(namespace: str, tmp_path: Path) -> None:
    with RedisServer(aof=True) as server:
        mail = Mail(server, namespace, tmp_path)
        try:
            mail.start()
            mail.put("gated")
            mail.put("after")
            eventually(lambda: mail.texts("1") == ["gated"], within=10)
            server.restart()
            Path(mail.plan.gate_file).touch()
            states = mail.wait_until_drained(within=30)
            assert states["after"] == "sent"
            assert mail.texts("1") == ["gated", "after"]
        finally:
            mail.end()


def test_a_full_redis_still_sends_what_it_holds(mail: Mail) -> None:
    for number in range(10):
        mail.put(f"1-{number}")
    mail.redis.config_set("maxmemory", int(mail.redis.info("memory")["used_memory"]) + 2_000_000)
    with suppress(redis_py.ResponseError):
        for number in count():
            mail.redis.set(f"filler-{number}", "x" * 10_000)
    mail.redis.config_set("maxmemory", int(mail.redis.info("memory")["used_memory"]) - 1_000_000)
    with pytest.raises(redis_py.ResponseError):
        mail.redis.set("probe", "x")
    mail.put("1-10")
    mail.start()
    assert set(mail.wait_until_drained(within=30).values()) == {"sent"}
    assert mail.texts("1") == [f"1-{number}" for number in range(11)]
