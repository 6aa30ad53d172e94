"""Three hundred turns with a real worker and a small window, checked by the requests that the model server got."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.agent.context.identifiers import expected
from openclaw_workers.agent.context.memory_flush import DONE
from openclaw_workers.agent.prompt.texts import (
    IDENTIFIERS_OMITTED,
    KEEP_IDENTIFIERS,
    MEMORY_FLUSH,
    SUMMARISE,
    SUMMARY_HEADING,
)
from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    CompactionEntry,
    NoticeEntry,
    TextBlock,
    ToolResultEntry,
    UserEntry,
)
from openclaw_workers.domain.untrusted import unwrap
from tests.support.fleet import Fleet
from tests.support.waiting import eventually
from tests.support.wire import Called, Hang, Recorded, Reply, WireServer
from tests.support.wire.words import newest_text

WINDOW = 12_000
TURNS = 300
NUMBER = re.compile(r"question (\d+)\b")
NOTE = Called("write", {"path": "memory/notes.md", "content": "likes blue"}, id="toolu_note")


def tokens(request: Recorded) -> int:
    """Counted as the server counts."""
    return len(json.dumps(request.body)) // 4


def system_prompt(request: Recorded) -> str:
    """The system prompt, wherever the API has it."""
    body = request.body
    return json.dumps(body.get("system") or body.get("instructions") or body["messages"][0]["content"])


def is_summary(request: Recorded) -> bool:
    return SUMMARISE[:40] in system_prompt(request)


def quoted(request: Recorded) -> str:
    return str(request.body["messages"][0]["content"][0]["text"])


class Model:
    """Uses a tool in every third turn, omits identifiers in first drafts of summaries, and saves notes when asked."""

    def __init__(self, *, counts: bool = True) -> None:
        self.drafts = self.answers = 0
        self.counts = counts
        """Whether it tells how large requests were, so that a worker learns how far its estimates are off."""

    def __call__(self, request: Recorded) -> Reply:
        size = tokens(request) if self.counts else 0
        if is_summary(request):
            self.drafts += 1
            _, omitted, rest = system_prompt(request).partition(IDENTIFIERS_OMITTED)
            names = rest[:400] if omitted else ""
            return Reply(f"Summary {self.drafts}: many questions were asked. {names}", input=size)
        if MEMORY_FLUSH[:40] in newest_text(request):
            return Reply(calls=[NOTE], input=size)
        asked = NUMBER.search(newest_text(request))
        number = int(asked[1]) if asked else -1
        if number >= 0 and number % 3 == 0:
            command = {"command": f"seq {number} {number + 150}"}
            return Reply(f"Let me look at {number}.", calls=[Called("exec", command, id=f"toolu_{number}")], input=size)
        self.answers += 1  # all different, so that the test notices an answer missing from a summary request
        return Reply(f"Answer {self.answers}: {'so it is. ' * 20}", input=size)


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer(answer=Model(), window=WINDOW) as running:
        yield running


def fleet_for(
    tmp_path: Path, server: WireServer, *, api: str = "anthropic-messages", mode: str = "safeguard", **more: Any
) -> Fleet:
    model = {"id": "m", "contextWindow": WINDOW, "maxTokens": 500}
    url = server.url if api == "anthropic-messages" else server.openai_url
    provider = {"baseUrl": url, "api": api, "apiKey": "k", "models": [model]}
    flush = more.pop("flush", {"enabled": False})
    agent = {"model": "wire/m", "compaction": {"mode": mode, "memoryFlush": flush}}
    # Few tools and no skills, so that the prompt leaves most of the window to the conversation.
    config = {
        "models": {"providers": {"wire": provider}},
        "agents": {"defaults": agent},
        "tools": {"allow": ["read", "write", "exec"]},
        "skills": {"allowBundled": []},
        **more,
    }
    return Fleet(tmp_path / "fleet", {"engine": {"leaseSeconds": 8.0}, **config})


def question(number: int) -> str:
    return f"question {number} about ticket ABC-{1000 + number} in src/module_{number}.py " + "and more words " * 15


def dropped_by(log: list[Any], at: int) -> list[Any]:
    """The entries that a compaction dropped from the request."""
    earlier = [i for i in range(at) if isinstance(log[i], CompactionEntry)]
    start = earlier[-1] - log[earlier[-1]].kept if earlier else 0
    return [entry for entry in log[start : at - log[at].kept] if not isinstance(entry, CompactionEntry)]


def text_of(entry: Any) -> str:
    return "\n".join(block.text for block in entry.content if isinstance(block, TextBlock))


@pytest.mark.timeout(420)
def test_three_hundred_turns_within_a_small_window(tmp_path: Path, server: WireServer) -> None:
    with fleet_for(tmp_path, server) as fleet:
        fleet.worker()
        sent = [fleet.send(question(number)) for number in range(TURNS)]
        outcomes = fleet.outcomes(sent, within=360)
        assert {outcome.receipt.state for outcome in outcomes} == {MessageState.ANSWERED}, fleet.logs()[-4000:]
        log: list[Any] = list(fleet.transcript())

    assert [request.problems for request in server.requests if request.problems] == []
    assert max(map(tokens, server.requests)) <= WINDOW, "a request was larger than the window"

    # Every question, answer and call with its result is in the log, in order.
    asked = [NUMBER.search(text_of(entry)) for entry in log if isinstance(entry, UserEntry)]
    assert [int(found[1]) for found in asked if found] == list(range(TURNS))
    answers = [entry for entry in log if isinstance(entry, AssistantEntry)]
    assert len([entry for entry in answers if not entry.tool_calls]) == TURNS
    calls = [call.id for entry in answers for call in entry.tool_calls]
    assert calls == [entry.tool_call_id for entry in log if isinstance(entry, ToolResultEntry)]
    assert len(calls) == TURNS // 3

    places = [index for index, entry in enumerate(log) if isinstance(entry, CompactionEntry)]
    assert len(places) >= 5
    summaries = [request for request in server.requests if is_summary(request)]
    assert all(KEEP_IDENTIFIERS in system_prompt(request) for request in summaries)
    read = "\n".join(map(quoted, summaries))
    for place in places:
        dropped = dropped_by(log, place)
        assert dropped
        for entry in dropped:
            assert unwrap(text_of(entry)).strip() in read
        entry = log[place]
        names = expected(dropped)
        assert names
        assert all(name in entry.summary for name in names)
        assert entry.details["identifiersAskedAgain"] == len(names), "not all identifiers were requested again"
    repeated = [request for request in summaries if IDENTIFIERS_OMITTED in system_prompt(request)]
    assert len(repeated) == len(places), "not exactly one repeat per summary"
    later = [request for request in server.requests if quoted(request).startswith(SUMMARY_HEADING)]
    assert later, "no request after the summaries"


@pytest.mark.timeout(240)
@pytest.mark.parametrize("api", ["openai-completions", "openai-responses"])
def test_the_other_apis_and_the_other_mode_with_notes_before_each_compaction(
    tmp_path: Path, server: WireServer, api: str
) -> None:
    turns = 60
    with fleet_for(tmp_path, server, api=api, mode="default", flush={"enabled": True}) as fleet:
        fleet.worker()
        outcomes = fleet.outcomes([fleet.send(question(number)) for number in range(turns)], within=200)
        assert {outcome.receipt.state for outcome in outcomes} == {MessageState.ANSWERED}, fleet.logs()[-4000:]
        log: list[Any] = list(fleet.transcript())
        notes = (fleet.workspace / "memory" / "notes.md").read_text()

    path = {"openai-completions": "/v1/chat/completions", "openai-responses": "/v1/responses"}[api]
    assert {(request.path, *request.problems) for request in server.requests} == {(path,)}
    assert max(map(tokens, server.requests)) <= WINDOW, "a request was larger than the window"
    asked = [NUMBER.search(text_of(entry)) for entry in log if isinstance(entry, UserEntry)]
    assert [int(found[1]) for found in asked if found] == list(range(turns))
    calls = [call.id for entry in log if isinstance(entry, AssistantEntry) for call in entry.tool_calls]
    assert calls == [entry.tool_call_id for entry in log if isinstance(entry, ToolResultEntry)]
    assert len(calls) == turns // 3

    kinds = [type(entry) for entry in log if isinstance(entry, CompactionEntry | NoticeEntry)]
    compactions = kinds.count(CompactionEntry)
    assert compactions >= 2
    assert kinds[: 2 * compactions] == [NoticeEntry, CompactionEntry] * compactions, (
        "not one note before each compaction"
    )
    saved = {entry.text for entry in log if isinstance(entry, NoticeEntry)}
    assert saved == {f"{DONE}: saved to memory/notes.md"}
    assert notes == "likes blue"
    assert MEMORY_FLUSH[:40] not in str(log), "the flush prompt is in the log"
    assert any(is_summary(request) for request in server.requests)


@pytest.mark.timeout(180)
def test_a_worker_that_dies_while_it_compacts_has_changed_nothing(tmp_path: Path, server: WireServer) -> None:
    # Both workers estimate tokens alike, so the second one compacts too.
    model, hung, server.window = Model(counts=False), list[Recorded](), None

    def hang_once(request: Recorded) -> Reply | Hang:
        if is_summary(request) and not hung:
            hung.append(request)
            return Hang()
        return model(request)

    server.answer = hang_once
    with fleet_for(tmp_path, server, engine={"leaseSeconds": 3.0, "sweepSeconds": 0.2}) as fleet:
        first = fleet.worker()
        sent: list[Queued] = []
        while not hung:
            assert len(sent) < 100
            sent.append(fleet.send(question(len(sent))))
            eventually(lambda: hung or fleet.receipt(sent[-1]).state is MessageState.ANSWERED, within=60)
        before = fleet.transcript()
        assert not any(isinstance(entry, CompactionEntry) for entry in before)
        first.kill()
        fleet.worker()
        outcome = fleet.outcome(sent[-1], within=60)
        log = fleet.transcript()

    assert outcome.receipt.state is MessageState.ANSWERED
    assert log[: len(before)] == before
    assert sum(isinstance(entry, CompactionEntry) for entry in log) == 1
    asked = [NUMBER.search(text_of(entry)) for entry in log if isinstance(entry, UserEntry)]
    assert [int(found[1]) for found in asked if found] == list(range(len(sent)))
    assert [request.problems for request in server.requests if request.problems] == []


@pytest.mark.timeout(180)
def test_a_worker_that_dies_while_notes_are_saved_leaves_them_to_be_saved_once(
    tmp_path: Path, server: WireServer
) -> None:
    """This happens during a turn: its calls and results stay unchanged, and the log has no trace of the notes."""
    hung: list[Recorded] = []

    def answer(request: Recorded) -> Reply | Hang:
        text = json.dumps(request.body)
        if MEMORY_FLUSH[:40] in text:
            if "toolu_note" not in text:
                return Reply(calls=[NOTE])
            if not hung:
                hung.append(request)
                return Hang()
            return Reply("NO_REPLY")
        counting = Called("exec", {"command": "seq 500"}, id="toolu_seq")
        return Reply("read") if "toolu_seq" in text else Reply(calls=[counting])

    server.answer, server.window = answer, None
    fast = {"leaseSeconds": 3.0, "sweepSeconds": 0.2}
    with fleet_for(tmp_path, server, engine=fast, flush={"forceFlushTranscriptBytes": 1500}) as fleet:
        first = fleet.worker()
        sent = fleet.send("count, please")
        eventually(lambda: hung, within=60)
        before = fleet.transcript()
        first.kill()
        fleet.worker()
        assert fleet.outcome(sent, within=60).receipt.state is MessageState.ANSWERED
        log = fleet.transcript()
        text = fleet.outcome(fleet.send("and now?"), within=60).text

    assert [entry.role for entry in before] == ["user", "assistant", "toolResult"]
    assert log[: len(before)] == before
    done, last = log[len(before) :]
    assert isinstance(done, NoticeEntry)
    assert done.text == f"{DONE}: saved to memory/notes.md"
    assert isinstance(last, AssistantEntry)
    assert text == "read"
    begun = [request for request in server.requests if MEMORY_FLUSH[:40] in newest_text(request)]
    assert len(begun) == 2, "not repeated exactly once, after the crash"
    assert [request.problems for request in server.requests if request.problems] == []
