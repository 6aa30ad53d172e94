"""Every endpoint answers with the JSON of the command that does the same."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage
from openclaw_workers.domain.pairing import Subject
from openclaw_workers.domain.tokens import Scope
from openclaw_workers.remote.records import state_of, worker_of
from openclaw_workers.store.outbox_records import Account, PartOutcome
from tests.support.fleet import Fleet, session_key
from tests.support.ingress import Api, Ingress, in_path, new_token
from tests.support.ocw import Gate, Ocw
from tests.support.programs import as_text, program, say, spawn
from tests.support.waiting import eventually

CHANGING = {"at", "ageMs", "leaseLeftMs", "beatAt", "leaseUntil", "seenAt"}


def steady(value: Any) -> Any:
    """Without what changes from one look to the next."""
    if isinstance(value, dict):
        return {name: steady(each) for name, each in value.items() if name not in CHANGING}
    if not isinstance(value, list):
        return value
    # Workers are listed by their last heartbeat.
    return sorted(
        (steady(each) for each in value), key=lambda each: each.get("pid", 0) if isinstance(each, dict) else 0
    )


@pytest.fixture(scope="module")
def talked(fleet: Fleet, api: Api) -> dict[str, str]:
    """A session with an answer, and one with a sub-agent."""
    answered = api.send("hello", sessionKey="talk", wait="reply")
    tree = api.send(
        as_text(program(spawn(program(say("done")), label="helper"), say("spawned"), say("heard"))),
        sessionKey="tree",
        wait="tree",
    )
    assert tree["settled"]
    assert tree["subagents"][0]["label"] == "helper"
    fill_outbox(fleet)
    return {"run": answered["runId"], "root": tree["runId"], "child": tree["subagents"][0]["runId"]}


def fill_outbox(fleet: Fleet) -> None:
    """One message that waits and one that may have arrived."""
    store, route = fleet.stores.outbox, Route(channel="telegram", account_id="bot", to="42")
    for name in ("a", "b"):
        session = session_key("talk") if name == "a" else SessionKey("")
        store.put(OutgoingMessage(id=name, kind=OutgoingKind.REPLY, route=route, text="hello", session_key=session))
    (claim,) = store.claim([Account("telegram", "bot")], lease_ms=5000, most=1).claims
    store.sending(claim, 0, ['{"payload": {"text": "hello"}}'], lease_ms=5000)
    store.record(claim, 0, PartOutcome.UNKNOWN, error="cut off", lease_ms=5000)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/sessions", ["sessions", "list"]),
        ("/sessions?agentId=main&limit=1", ["sessions", "list", "--agent", "main", "--limit", "1"]),
        ("/sessions/talk", ["sessions", "show", "talk"]),
        (f"/sessions/{in_path('agent:main:talk')}", ["sessions", "show", "talk"]),
        ("/sessions/resolve?key=talk", ["sessions", "show", "talk"]),
        ("/session-trees", ["sessions", "tree"]),
        ("/runs", ["runs", "list"]),
        (
            "/runs?sessionKey=talk&state=ok&limit=1",
            ["runs", "list", "--session", "talk", "--state", "ok", "--limit", "1"],
        ),
        ("/runs/{run}", ["runs", "show", "{run}"]),
        ("/tree/{root}", ["runs", "tree", "{root}"]),
        ("/tree/tree", ["runs", "tree", "tree"]),
        ("/subagents", ["subagents", "list"]),
        ("/subagents?sessionKey=tree&live=true", ["subagents", "list", "tree", "--live"]),
        ("/subagents/{child}", ["subagents", "info", "{child}"]),
        ("/subagents/helper", ["subagents", "info", "helper"]),
        ("/usage", ["usage"]),
        ("/usage?by=channel&days=2", ["usage", "--by", "channel", "--days", "2"]),
        ("/usage?by=peer", ["usage", "--by", "peer"]),
        ("/status", ["status"]),
        ("/damaged", ["status", "--damaged"]),
        ("/outbox", ["outbox", "list"]),
        ("/outbox?all=true&state=unknown&limit=1", ["outbox", "list", "--all", "--state", "unknown", "--limit", "1"]),
        ("/outbox/a", ["outbox", "show", "a"]),
        ("/pairing", ["pairing", "list"]),
        ("/channels", ["channels", "list"]),
        ("/channels/telegram", ["channels", "status"]),
        ("/channels/telegram/default", ["channels", "status", "telegram"]),
        ("/agents/main/prompt", ["agents", "prompt", "main"]),
        ("/session-trees?key=tree", ["sessions", "tree", "tree"]),
        ("/agents", ["agents", "list"]),
        ("/plugins", ["plugins", "list"]),
        ("/plugins/check", ["plugins", "check"]),
        ("/mcp", ["mcp", "status"]),
        ("/models", ["models", "list"]),
        ("/models/keys", ["models", "status"]),
        ("/config?prefix=engine", ["config", "show", "engine"]),
        ("/config?prefix=gateway.limits", ["config", "show", "gateway.limits"]),
    ],
)
def test_an_answer_is_that_of_the_command(
    api: Api, ocw: Ocw, talked: dict[str, str], path: str, words: list[str]
) -> None:
    answer = api.get(path.format(**talked))
    command = ocw(*(word.format(**talked) for word in words), "--json")
    assert command.code == 0, command.err
    assert steady(answer) == steady(command.json)


def test_a_transcript_is_read_in_pages_from_its_end(api: Api, ocw: Ocw, talked: dict[str, str]) -> None:
    whole = ocw("sessions", "history", "tree", "--json").json
    last = api.get("/sessions/tree/history", limit=2)
    first = api.get("/sessions/tree/history", before=last["first"])

    assert [*first["entries"], *last["entries"]] == whole
    assert (first["first"], last["first"]) == (0, len(whole) - 2)
    log = ocw("subagents", "log", talked["child"], "--json").json
    assert api.get(f"/subagents/{talked['child']}/log")["entries"] == log
    assert api.get(f"/runs/{talked['run']}/journal")["journal"] == api.get(f"/runs/{talked['run']}")["journal"]


def test_trees_are_listed_newest_first(api: Api, talked: dict[str, str]) -> None:
    trees = api.get("/trees")["trees"]
    assert [tree["runId"] for tree in trees][:2] == [talked["root"], talked["run"]]
    assert trees[0]["subtreeTokens"] == sum(node["tokens"] for node in nodes(trees[0]))
    assert [tree["runId"] for tree in api.get("/trees", sessionKey="talk")["trees"]] == [talked["run"]]
    assert [tree["sessionKey"] for tree in api.get("/trees", sessionKey="tree", limit=1)["trees"]] == [
        "agent:main:tree"
    ]
    assert api.status("GET", "/api/v1/trees?sessionKey=nothing") == 404


def nodes(tree: dict[str, Any]) -> list[dict[str, Any]]:
    return [tree, *(node for child in tree["children"] for node in nodes(child))]


def test_a_parked_child_shows_since_when(fleet: Fleet, api: Api) -> None:
    gate = Gate(fleet, "parked")
    inner = program(spawn(program(gate.step, say("leaf")), label="leaf"), say("waiting"), say("middle done"))
    api.send(as_text(program(spawn(inner, label="middle"), say("spawned"), say("heard"))), sessionKey="park")
    (middle,) = eventually(lambda: fleet.stores.tree.children(session_key("park")), within=30)
    eventually(lambda: fleet.run(middle.id).state == "parked", within=30)
    parked = api.get(f"/runs/{middle.id}")["parked"]
    gate.open()
    eventually(lambda: fleet.run(middle.id).settled_at, within=30)

    ((since, until),) = fleet.run(middle.id).parked_spans
    assert parked == [{"from": since, "to": None}]
    assert until is not None
    assert until >= since


def test_a_session_is_patched_reset_and_deleted(fleet: Fleet, api: Api, talked: dict[str, str]) -> None:
    api.send("hello", sessionKey="change", wait="reply")
    wanted = {
        "label": "My notes ",
        "model": "offline/demo",
        "thinkingLevel": "low",
        "reasoningLevel": "on",
        "verboseLevel": "full",
        "responseUsage": "tokens",
        "sendPolicy": "deny",
        "groupActivation": "always",
        "authProfile": "anthropic/main:spare",
    }
    row = api._checked(api.http.patch("/api/v1/sessions/change", json=wanted))["row"]

    kept = {**wanted, "label": "My notes", "providerOverride": "offline", "modelOverride": "demo"}
    kept |= {"authProfilePin": "anthropic/main:spare"}
    assert {name: row[name] for name in kept.keys() - {"model", "authProfile"}} == {
        name: value for name, value in kept.items() if name not in ("model", "authProfile")
    }
    taken = api.http.patch("/api/v1/sessions/talk", json={"label": "My notes"})
    assert taken.status_code == 409
    assert api.get("/sessions/resolve", label="My notes")["sessionKey"] == "agent:main:change"
    assert [each["sessionKey"] for each in api.get("/sessions", label="My notes")["sessions"]] == ["agent:main:change"]
    cleared = api._checked(api.http.patch("/api/v1/sessions/change", json={"label": None, "model": None}))["row"]
    assert not {"label", "modelOverride", "providerOverride"} & cleared.keys()

    reset = api.post("/sessions/change/reset")
    assert reset["sessionId"] != reset["previousSessionId"]
    assert api._checked(api.http.delete("/api/v1/sessions/change")) == {"ok": True, "sessionKey": "agent:main:change"}
    assert fleet.stores.reader.session(session_key("change")) is None
    assert api.status("DELETE", "/api/v1/sessions/change") == 404


@pytest.mark.parametrize(
    "patch",
    [
        {"thinkingLevel": "enormous"},
        {"model": "nobody/nothing"},
        {"sendPolicy": "maybe"},
        {"groupActivation": "sometimes"},
        {"authProfile": "nobody"},
        {"unknown": 1},
    ],
)
def test_a_wrong_patch_is_refused(api: Api, talked: dict[str, str], patch: dict[str, Any]) -> None:
    assert api.status("PATCH", "/api/v1/sessions/talk", json=patch) in (400, 404, 422)


def test_messages_that_wait_are_listed(fleet: Fleet, api: Api) -> None:
    gate = Gate(fleet, "queue")
    running = api.send(as_text(program(gate.step, say("first"))), sessionKey="queue")
    eventually(lambda: fleet.run(running["runId"]).state == "running", within=30)
    waiting = api.send("second", sessionKey="queue", mode="followup")

    queue = api.get("/sessions/queue/queue")
    gate.open()

    assert (queue["state"], queue["runId"]) == ("running", running["runId"])
    assert [(each["messageId"], each["text"], each["mode"]) for each in queue["waiting"]] == [
        (waiting["messageId"], "second", "followup")
    ]


def test_messages_to_chats_are_sent_again_and_dropped(
    fleet: Fleet, ingress: Ingress, api: Api, chat: Api, talked: dict[str, str]
) -> None:
    other = Api(ingress.url, new_token(fleet, Scope.ADMIN, agent="work"))
    assert chat.status("POST", "/api/v1/outbox/a/retry") == 403
    assert other.get("/outbox")["messages"] == []
    assert other.status("GET", "/api/v1/outbox/a") == other.status("POST", "/api/v1/outbox/b/drop") == 404
    assert api.post("/outbox/a/retry")["state"] == "queued"
    assert api.post("/outbox/b/drop")["state"] == "dropped"
    assert api.status("POST", "/api/v1/outbox/b/retry") == 400
    assert api.status("GET", "/api/v1/outbox/nothing") == 404


def test_people_are_let_in_and_out(fleet: Fleet, api: Api, chat: Api) -> None:
    asked = fleet.stores.pairings.request(Subject("telegram", person_id="7"), name="Ada", message_id="1")
    assert asked is not None
    assert chat.status("GET", "/api/v1/pairing") == 403
    assert api.get("/pairing")["requests"][0]["code"] == asked.code
    assert api.post("/pairing/approve", {"who": asked.code})["subject"] == "telegram:7"
    assert api.status("POST", "/api/v1/pairing/approve", json={"who": "telegram:8"}) == 409
    assert api.post("/pairing/approve", {"who": "telegram:8", "shareSession": True})["subject"] == "telegram:8"
    assert [each["subject"] for each in api.get("/pairing")["admitted"]] == ["telegram:7", "telegram:8"]
    for person in ("telegram:7", "telegram:8"):
        assert api.post("/pairing/revoke", {"who": person}) == {"ok": True, "subject": person}
    assert api.status("POST", "/api/v1/pairing/revoke", json={"who": "telegram:9"}) == 404


def test_the_configuration_is_checked(api: Api) -> None:
    assert api.post("/config/check")["ok"]
    good = api.post("/config/check", {"text": "gateway: {port: 1234}\n"})
    bad = api.post("/config/check", {"text": "gateway: {prot: 1234, bind: lan, auth: none}\n"})
    assert (good["ok"], good["source"]) == (True, None)
    assert not bad["ok"]
    assert any("prot" in problem for problem in bad["problems"])
    assert not api.post("/config/check", {"text": "{", "format": "json"})["ok"]


OWNERS_ONLY: list[tuple[str, str, Any]] = [
    ("POST", "/workers/drain", {"name": "nobody"}),
    ("POST", "/workers/undrain", {"name": "nobody"}),
    ("POST", "/sandboxes/prune", {}),
    ("POST", "/skills", {"name": "../outside"}),
    ("POST", "/skill-packages", {"data": ""}),
    ("POST", "/session-cleanup", {"dryRun": True}),
    ("GET", "/config/history", None),
    ("POST", "/config/apply", {"dryRun": True}),
    ("POST", "/config/rollback", {"version": 99}),
]


def test_what_changes_the_installation_needs_an_owner_of_all_of_it(
    fleet: Fleet, ingress: Ingress, api: Api, chat: Api
) -> None:
    bound = [Api(ingress.url, new_token(fleet, Scope.ADMIN, agent="work"))]
    bound += [Api(ingress.url, new_token(fleet, Scope.ADMIN, person="telegram:7"))]
    for method, path, body in OWNERS_ONLY:
        refused = [client.status(method, f"/api/v1{path}", json=body) for client in (chat, *bound)]
        assert refused == [403, 403, 403], path
        assert api.status(method, f"/api/v1{path}", json=body) in (200, 400, 404), path


def test_a_token_of_one_agent_sees_its_skills_tools_and_sandboxes_only(fleet: Fleet, ingress: Ingress) -> None:
    work = Api(ingress.url, new_token(fleet, Scope.READ, agent="work"))
    assert work.get("/skills", all=True)["agentId"] == "work"
    assert work.status("GET", "/api/v1/skills?agentId=main") == 404
    assert work.status("GET", "/api/v1/skill-check?agentId=main") == 404
    assert work.get("/tools", sessionKey="agent:work:main")["agentId"] == "work"
    assert work.status("GET", "/api/v1/tools") == work.status("GET", "/api/v1/sandbox") == 404
    assert work.get("/sandboxes")["sandboxes"] == []


def test_a_configuration_with_secrets_is_not_taken_and_none_is_answered(fleet: Fleet, api: Api, ocw: Ocw) -> None:
    before = api.get("/config/history")["versions"][0]["version"]
    literal = "models: {providers: {openai: {apiKey: sk-written-out-in-full}}}\n"
    status, code = api.error("POST", "/api/v1/config/apply", json={"text": literal})
    assert (status, code) == (400, "bad_input")
    wrong = api.post("/config/apply", {"text": "gateway: {prot: 1}\n"})
    assert (wrong["ok"], wrong["source"], len(wrong["problems"])) == (False, None, 1)
    assert "/tmp" not in str(wrong)

    text = f"{fleet.config_path.read_text()}\nmodels: {{providers: {{openai: {{apiKey: '${{SOME_KEY}}'}}}}}}\n"
    done = api.post("/config/apply", {"text": text})
    assert (done["published"], done["previous"], done["movedSecrets"]) == (True, before, [])
    (newest, *_) = api.get("/config/history")["versions"]
    assert newest["by"].startswith("token ")
    assert [each["after"] for each in newest["changes"]] == ["${SOME_KEY}"]
    assert api.post("/config/rollback")["rolledBackTo"] == before
    assert "sk-written" not in str(api.get("/config/history"))


def test_a_package_that_is_no_skill_is_refused(api: Api, fleet: Fleet) -> None:
    for data in ("not base64!", "bm90IGEgemlw"):
        assert api.error("POST", "/api/v1/skill-packages", json={"data": data}) == (400, "bad_input")
    assert not (fleet.state_dir / "skills").exists()


def test_a_key_of_a_provider_that_is_not_there_cannot_be_resumed(api: Api) -> None:
    assert api.error("POST", "/api/v1/models/resume", json={"key": "nobody"}) == (404, "not_found")


def test_commands_are_listed_with_their_help(api: Api, chat: Api) -> None:
    commands = {each["name"]: each for each in api.get("/commands")["commands"]}
    assert commands["stop"]["authority"] == "authorized"
    assert commands["queue"]["usage"].startswith("/queue")
    assert "queue" not in {each["name"] for each in chat.get("/commands")["commands"]}


def test_who_is_asking(api: Api, chat: Api, reader: Api) -> None:
    reported = [(each["scope"], each["authority"]) for each in (client.get("/me") for client in (api, chat, reader))]
    assert reported == [("admin", "owner"), ("chat", "authorized"), ("read", "anyone")]


def test_a_state_is_the_same_over_http_as_in_redis(fleet: Fleet, api: Api) -> None:
    """`ocw agent` on the machine of `ocw up` asks the ingress, and says why a message waits."""
    key, stores = session_key("far"), fleet.stores
    stores.redis.hset(stores.keys.ctl(key), mapping={"state": "queued", "run": "run-1", "waits_for": "host-a:/work"})

    there, here = state_of(api.get(f"/sessions/{in_path(key)}/progress")), stores.reader.control(key)

    assert here.waits_for == "host-a:/work"
    assert there == here
    workers = [worker_of(each) for each in api.get("/status")["workers"]]
    facts = {info.id: info.facts for info in stores.workers.all()}
    assert {info.id: info.facts for info in workers} == {
        name: {fact: facts[name].get(fact, "0") for fact in ("lane", "drain")} for name in facts
    }
