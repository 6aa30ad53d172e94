"""Buttons under messages, and voice notes that are turned into text."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest

from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import Button, OutgoingKind, OutgoingMessage
from tests.integration.telegram.conftest import MakeFleet
from tests.support.fake_telegram import FakeTelegram
from tests.support.fake_telegram_updates import ADA, EVE, StoredFile, voice
from tests.support.programs import program, say
from tests.support.telegram_fleet import TelegramFleet
from tests.support.waiting import eventually

SESSION = "agent:main:telegram:dm:1001"
SPOKEN = json.dumps(program(say("heard you")))


class Speech(BaseHTTPRequestHandler):
    """OpenAI's /audio/transcriptions."""

    requests: ClassVar[list[tuple[str, str, bytes]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.requests.append((self.path, self.headers["authorization"], body))
        answer = json.dumps({"text": SPOKEN}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.fixture
def speech_url() -> Iterator[str]:
    Speech.requests = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Speech) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        server.shutdown()


def test_a_voice_note_is_transcribed(make_fleet: MakeFleet, telegram: FakeTelegram, speech_url: str) -> None:
    transcribe = {"baseUrl": speech_url, "apiKey": "key", "model": "whisper-x"}
    fleet = make_fleet(channels={"telegram": {"transcribe": transcribe}})
    fleet.worker("main", wait=False)
    fleet.ingress()
    telegram.bot.files["v1"] = StoredFile(b"OggS-the-recording", "voice/1.oga")
    telegram.bot.say(extra=voice("v1"))
    assert fleet.replies() == ["heard you"]
    ((path, authorization, body),) = Speech.requests
    assert (path, authorization) == ("/v1/audio/transcriptions", "Bearer key")
    assert b"OggS-the-recording" in body
    assert b"whisper-x" in body


def test_a_pressed_button_is_an_answer(fleet: TelegramFleet, telegram: FakeTelegram) -> None:
    data = json.dumps(program(say("pressed")))
    route = Route(channel="telegram", account_id="default", to=str(ADA.id))
    rows = ((Button(text="Yes", data="/status"), Button(text="Site", url="https://a.example")),)
    question = OutgoingMessage(id="q1", kind=OutgoingKind.NOTICE, route=route, text="Sure?", buttons=rows)
    fleet.stores.outbox.put(question)
    (sent,) = eventually(telegram.bot.visible, within=20)
    assert [button["text"] for button in sent.buttons[0]] == ["Yes", "Site"]
    telegram.bot.press(sent, ADA, "/status")
    assert "state" in fleet.replies(count=2)[1]
    assert telegram.bot.answered_buttons == [f"q{sent.id}-/status"]
    telegram.bot.press(sent, EVE, data)
    telegram.bot.say(data)
    assert fleet.replies(count=3)[2] == "pressed"
    assert [run.session_key for run in fleet.turns()] == [SESSION], "a stranger's press counts for nothing"
