"""Streams of events: many viewers on one connection, resumed after a break, and a slow viewer harms nobody."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.domain.tokens import Scope
from openclaw_workers.store.client import run_script
from tests.support.fleet import Fleet, session_key
from tests.support.ingress import Api, Ingress, in_path, new_token, start_ingress
from tests.support.ocw import Gate, Ocw
from tests.support.programs import as_text, program, say, spawn
from tests.support.waiting import eventually


def upto(events: Iterator[tuple[str, str, Any]], kind: str) -> list[tuple[str, str, Any]]:
    found = []
    for event in events:
        found.append(event)
        if event[1] == kind:
            return found
    raise AssertionError(f"the stream ended before {kind}: {[each[1] for each in found]}")


def stored(fleet: Fleet, session: str) -> list[str]:
    return [event.id for event in fleet.events(session)]


def reader_connections(fleet: Fleet) -> int:
    clients = fleet.stores.redis.client_list()
    return sum(each["name"] == "openclaw-ingress-events" for each in clients)


def test_a_viewer_sees_what_happens_from_now_on(chat: Api) -> None:
    chat.send("before", sessionKey="live", wait="reply")
    with chat.stream("GET", "/sessions/live/events") as events:
        chat.send("after", sessionKey="live")
        found = upto(events, "run.ended")
    assert found[0][1] == "message.accepted"
    assert {data["sessionKey"] for _, _, data in found} == {"agent:main:live"}
    assert [data["seq"] for _, _, data in found] == list(range(found[0][2]["seq"], found[0][2]["seq"] + len(found)))


def test_a_stream_that_broke_is_resumed_without_loss_or_repeat(fleet: Fleet, chat: Api) -> None:
    chat.send("one", sessionKey="resume", wait="reply")
    with chat.stream("GET", "/sessions/resume/events", params={"after": "0"}) as events:
        first = upto(events, "run.started")
    chat.send("two", sessionKey="resume", wait="reply")
    with chat.stream("GET", "/sessions/resume/events", headers={"Last-Event-ID": first[-1][0]}) as events:
        rest = [*upto(events, "run.ended"), *upto(events, "run.ended")]

    assert [ident for ident, _, _ in [*first, *rest]] == stored(fleet, "resume")


def test_viewers_of_one_session_at_different_places_each_get_all(fleet: Fleet, chat: Api) -> None:
    chat.send("one", sessionKey="places", wait="reply")
    with (
        chat.stream("GET", "/sessions/places/events") as late,
        chat.stream("GET", "/sessions/places/events", params={"after": "0"}) as early,
    ):
        first = upto(early, "run.ended")
        chat.send("two", sessionKey="places", wait="reply")
        seen_late, seen_early = upto(late, "run.ended"), upto(early, "run.ended")
    everything = stored(fleet, "places")
    assert [ident for ident, _, _ in [*first, *seen_early]] == everything
    assert [ident for ident, _, _ in seen_late] == everything[len(first) :]


def test_many_viewers_share_one_connection(fleet: Fleet, chat: Api) -> None:
    names = [f"many-{number}" for number in range(8)]
    for name in names:
        chat.send("hello", sessionKey=name, wait="reply")
    streams = [chat.stream("GET", f"/sessions/{name}/events") for name in names for _ in range(4)]
    watching = [stream.__enter__() for stream in streams]
    try:
        for name in names:
            chat.send("again", sessionKey=name)
        assert all(upto(events, "run.ended") for events in watching)
        assert reader_connections(fleet) == 1
    finally:
        for stream in streams:
            stream.__exit__(None, None, None)


def test_a_viewer_learns_of_events_that_are_gone(fleet: Fleet, chat: Api) -> None:
    chat.send("hello", sessionKey="gap", wait="reply")
    first = stored(fleet, "gap")[0]
    fleet.stores.redis.xtrim(fleet.stores.keys.events(session_key("gap")), maxlen=2, approximate=False)
    with chat.stream("GET", "/sessions/gap/events", headers={"Last-Event-ID": first}) as events:
        found = upto(events, "run.ended")
    assert found[0][1] == "gap"
    assert [ident for ident, _, _ in found[1:]] == stored(fleet, "gap")


def test_a_damaged_event_is_a_gap_and_ends_nothing(fleet: Fleet, chat: Api) -> None:
    chat.send("hello", sessionKey="torn", wait="reply")
    with chat.stream("GET", "/sessions/torn/events") as events:
        fleet.stores.redis.xadd(fleet.stores.keys.events(session_key("torn")), {"type": "half"})
        chat.send("again", sessionKey="torn")
        assert upto(events, "run.ended")


def test_a_session_that_does_not_exist_has_no_events(chat: Api) -> None:
    assert chat.error("GET", "/api/v1/sessions/never/events") == (404, "not_found")
    assert chat.status("GET", "/api/v1/sessions/never/events?after=x") == 422


def test_a_slow_viewer_is_dropped_and_the_others_are_not(tmp_path: Path) -> None:
    """It never reads: its answers fill the buffers between, and after a second its connection is closed."""
    with Fleet(tmp_path / "own", {"gateway": {"limits": {"idleSeconds": 1.0}}}) as own:
        ingress, token = start_ingress(own), new_token(own, Scope.CHAT)
        client = Api(ingress.url, token)
        client.send("hello", sessionKey="slow")
        lines = [
            "GET /api/v1/sessions/slow/events HTTP/1.1",
            "Host: localhost",
            f"Authorization: Bearer {token}",
            "",
            "",
        ]
        seen = 0
        with socket.create_connection(ingress.address) as slow, client.stream("GET", "/sessions/slow/events") as events:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            slow.sendall("\r\n".join(lines).encode())
            assert slow.recv(15).startswith(b"HTTP/1.1 200")
            for _ in range(30):
                _show(own, "slow", ["x" * 2000] * 100)
                for _, kind, _ in islice(events, 100):
                    seen += kind == "text.delta"
            eventually(lambda: _is_cut_off(slow), within=20)
    assert seen == 3000, "the other viewer got everything"


def _is_cut_off(sock: socket.socket) -> bool:
    try:
        sock.sendall(b" ")
    except OSError:
        return True
    return False


def _show(fleet: Fleet, session: str, texts: list[str]) -> None:
    """Add events as a running turn does, quicker than any turn would."""
    keys, key = fleet.stores.keys, session_key(session)
    shown = [{"type": "text.delta", "data": {"run": "run-x", "text": text}} for text in texts]
    fleet.stores.redis.hset(keys.ctl(key), "lease", "1:test")
    run_script(
        fleet.stores.redis,
        "emit",
        keys={"ctl": keys.ctl(key), "events": keys.events(key), "run_key": keys.run("run-x")},
        args={"lease": "1:test", "shown": json.dumps(shown)},
    )


def test_a_revoked_token_ends_its_streams(fleet: Fleet, ingress: Ingress, ocw: Ocw, chat: Api) -> None:
    token = new_token(fleet, Scope.READ)
    chat.send("hello", sessionKey="watched", wait="reply")
    client = Api(ingress.url, token)
    with client.stream("GET", "/sessions/watched/events") as events, client.stream("GET", "/events") as changes:
        assert ocw("tokens", "revoke", token.split("_")[1]).code == 0
        assert list(events) == []
        assert {kind for _, kind, _ in changes} <= {"ready", "fleet.changed"}


def test_changes_of_the_installation_are_shown(fleet: Fleet, ingress: Ingress, api: Api) -> None:
    work = Api(ingress.url, new_token(fleet, Scope.READ, agent="work"))
    gate = Gate(fleet, "fleet")
    with api.stream("GET", "/events") as events, work.stream("GET", "/events") as other:
        upto(events, "fleet.changed")
        upto(other, "fleet.changed")
        job = program(spawn(program(gate.step, say("done")), label="bee"), say("spawned"), say("heard"))
        root = api.send(as_text(job), sessionKey="fleet", wait="reply")["runId"]
        gate.open()
        work_run = api.send("hello", agentId="work", wait="reply")["runId"]
        seen, states = set[str](), dict[str, str]()
        for _, kind, data in events:
            seen.add(kind)
            if kind == "run.changed":
                states[data["label"] or data["runId"]] = data["state"]
            if states.get("bee") == states.get(root) == "ok" and "session.changed" in seen:
                break
        first = next(data for _, kind, data in other if kind == "run.changed")

    assert first["runId"] == work_run, "another agent's runs are not shown"


@pytest.mark.parametrize("path", ["/api/v1/events", f"/api/v1/sessions/{in_path('agent:main:live')}/events"])
def test_a_stream_may_not_be_cached_or_buffered(chat: Api, path: str) -> None:
    chat.send("hello", sessionKey="live", wait="reply")
    with chat.http.stream("GET", path) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert (answer.headers["cache-control"], answer.headers["x-accel-buffering"]) == ("no-store", "no")


def test_a_stream_goes_on_after_redis_was_away(tmp_path: Path) -> None:
    with Fleet(tmp_path / "own") as own:
        ingress, token = start_ingress(own), new_token(own, Scope.CHAT)
        own.send("one", "away")
        client = Api(ingress.url, token)
        with client.stream("GET", "/sessions/away/events", params={"after": "0"}) as events:
            assert next(events)[1] == "message.accepted"
            own.redis_server.restart()
            eventually(lambda: client.status("GET", "/api/v1/me") == 200, within=20)
            own.send("two", "away")
            assert next(events)[1] == "message.accepted"
