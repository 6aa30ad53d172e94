"""Commands with OPENCLAW_URL: the same output as on the machine of the installation."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage
from openclaw_workers.domain.pairing import Subject
from openclaw_workers.domain.tokens import Scope
from tests.support.fleet import Fleet
from tests.support.ingress import Api, Ingress, new_token
from tests.support.ocw import Done, Gate, Ocw, finish
from tests.support.programs import as_text, program, say, spawn
from tests.support.terminal import Terminal
from tests.support.waiting import eventually

CHANGING = {"at", "ageMs", "leaseLeftMs", "beatAt", "leaseUntil", "seenAt", "leftMs", "usedAt"}
HELLO = as_text(program(say("Hello.")))


class Remote(Ocw):
    """Runs `ocw` as on another machine: it knows an address and a token, and nothing else."""

    def __init__(self, fleet: Fleet, ingress: Ingress, token: str, home: Path) -> None:
        super().__init__(fleet)
        for name in ("OPENCLAW_CONFIG", "REDIS_URL"):
            del self.env[name]
        self.env |= {"OPENCLAW_URL": ingress.url, "OPENCLAW_TOKEN": token, "OPENCLAW_STATE_DIR": str(home)}


@pytest.fixture(scope="module")
def remote(fleet: Fleet, ingress: Ingress, tmp_path_factory: pytest.TempPathFactory) -> Remote:
    return Remote(fleet, ingress, new_token(fleet), tmp_path_factory.mktemp("elsewhere"))


@pytest.fixture(scope="module")
def facts(fleet: Fleet, ocw: Ocw) -> dict[str, str]:
    """Something of every kind to look at."""
    steps = program(spawn(program(say("done")), label="helper"), say("spawned"), say("heard"))
    tree = ocw("agent", "-m", as_text(steps), "--session", "tree", "--wait", "tree", "--json").json
    talk = ocw("agent", "-m", HELLO, "--session", "talk", "--json").json
    route = Route(channel="telegram", to="42")
    fleet.stores.outbox.put(OutgoingMessage(id="out-1", kind=OutgoingKind.NOTICE, route=route, text="hi"))
    fleet.stores.outbox.sort()
    fleet.stores.pairings.request(Subject("telegram", person_id="7"), name="Ada", message_id="1")
    (fleet.workspace / "MEMORY.md").write_text("# Notes\n- the cabin is blue\n")
    assert ocw("memory", "index", "--agent", "main").code == 0
    job = ocw("cron", "add", "--every", "1h", "-m", HELLO, "--name", "hourly", "--json").json["id"]
    return {"root": tree["runId"], "child": tree["subagents"][0]["runId"], "run": talk["runId"], "job": job}


def steady(value: Any) -> Any:
    """Without what changes from one look to the next."""
    if isinstance(value, dict):
        return {name: steady(each) for name, each in value.items() if name not in CHANGING}
    return [steady(each) for each in value] if isinstance(value, list) else value


def without_ages(text: str) -> str:
    """Text without ages and times, which change from one look to the next, and the widths that follow from them."""
    text = re.sub(
        r"\b\d\d:\d\d:\d\d\b|\b[\d.]+(?:ms|s|m|h|d)\b(?: \d+[smh]\b)?(?: ago)?|just now|in \d+\w", "TIME", text
    )
    return re.sub(r" +", " ", text)


@pytest.mark.parametrize(
    "words",
    [
        ["status"],
        ["status", "--damaged"],
        ["sessions", "list", "--limit", "3"],
        ["sessions", "list", "--agent", "main"],
        ["sessions", "tree"],
        ["sessions", "tree", "tree"],
        ["sessions", "show", "talk"],
        ["sessions", "show", "agent:main:tree"],
        ["sessions", "history", "tree"],
        ["sessions", "history", "tree", "--limit", "2"],
        ["runs", "list", "--limit", "5"],
        ["runs", "list", "--session", "talk", "--state", "ok"],
        ["runs", "show", "{run}"],
        ["runs", "show", "{child}"],
        ["runs", "tree"],
        ["runs", "tree", "tree"],
        ["runs", "tree", "{root}"],
        ["runs", "watch", "{run}"],
        ["runs", "tree", "tree", "--watch"],
        ["subagents", "list"],
        ["subagents", "list", "tree", "--live"],
        ["subagents", "info", "helper"],
        ["subagents", "info", "{child}"],
        ["subagents", "log", "{child}"],
        ["usage"],
        ["usage", "--by", "day"],
        ["models", "list"],
        ["models", "status"],
        ["agents", "list"],
        ["config", "show", "engine"],
        ["outbox", "list"],
        ["outbox", "show", "out-1"],
        ["pairing", "list"],
        ["channels", "list"],
        ["channels", "status"],
        ["tokens", "list"],
        ["agents", "prompt", "main"],
        ["agents", "prompt", "main", "--sizes"],
        ["cron", "list"],
        ["cron", "runs", "{job}"],
        ["heartbeat", "status"],
        ["memory", "status", "--agent", "main"],
        ["memory", "files"],
        ["memory", "get", "MEMORY.md", "--from", "2", "--lines", "1"],
        ["memory", "search", '"cabin"'],
        ["memory", "search", '"cabin"', "--session", "talk"],
        ["sessions", "search", "spawned", "--limit", "1"],
        ["completion", "bash"],
    ],
)
def test_a_command_prints_the_same(ocw: Ocw, remote: Remote, facts: dict[str, str], words: list[str]) -> None:
    named = [word.format(**facts) for word in words]
    here, there = ocw(*named, "--json"), remote(*named, "--json")
    assert (there.code, there.err) == (here.code, here.err)
    assert _lines(there) == _lines(here)
    in_text = [done.out for done in (ocw(*named), remote(*named))]
    assert without_ages(in_text[1]) == without_ages(in_text[0])


def _lines(done: Done) -> list[Any]:
    """JSON values, one after the other; other output as it is."""
    found, rest = [], done.out.lstrip()
    while rest[:1] in ("{", "["):
        value, end = json.JSONDecoder().raw_decode(rest)
        found.append(steady(value))
        rest = rest[end:].lstrip()
    return [*found, rest]


@pytest.mark.parametrize(
    "words",
    [
        ["sessions", "show", "nothing"],
        ["sessions", "show", ""],
        ["sessions", "show", "cron:"],
        ["sessions", "history", "nothing"],
        ["sessions", "list", "--agent", "nobody"],
        ["sessions", "delete", "talk"],
        ["runs", "show", "run-0000000000000000"],
        ["runs", "show", "0"],
        ["runs", "stop", "{run}"],
        ["runs", "tree", "nothing"],
        ["subagents", "info", "99"],
        ["subagents", "info", "{run}"],
        ["subagents", "stop", "{child}"],
        ["subagents", "retry", "batch-0"],
        ["models", "resume", "nobody"],
        ["outbox", "show", "nothing"],
        ["pairing", "approve", "ZZZZ9999"],
        ["channels", "status", "telegram/nobody"],
        ["channels", "test"],
        ["tokens", "revoke", "0123456789ab"],
        ["tokens", "link", "0123456789ab"],
        ["tokens", "create", "--agent", "nobody"],
        ["tokens", "create", "--person", "telegram:group:1"],
        ["agents", "prompt", "nobody"],
        ["cron", "add", "-m", "never"],
        ["cron", "runs", "nothing"],
        ["cron", "pause", "nothing"],
        ["heartbeat", "run", "nobody"],
        ["memory", "get", "nothing.md"],
        ["memory", "status", "--agent", "nobody"],
        ["sessions", "export", "--session", "nothing", "--out", "x"],
        ["agent", "-m", ""],
        ["agent", "-m", "x", "--model", "no/model"],
        ["agent", "-m", "x", "--agent", "nobody"],
        ["agent", "-m", "/nothing"],
        ["config", "show", "nothing"],
    ],
)
def test_a_command_fails_in_the_same_way(ocw: Ocw, remote: Remote, facts: dict[str, str], words: list[str]) -> None:
    named = [word.format(**facts) for word in words]
    here, there = ocw(*named, "--json"), remote(*named, "--json")
    assert there.code == here.code != 0
    assert there.json == here.json


def test_a_message_is_answered_with_the_same_output(ocw: Ocw, remote: Remote) -> None:
    here, there = (each("agent", "-m", HELLO, "--session", "same") for each in (ocw, remote))
    assert (there.code, there.out, there.err) == (here.code, here.out, here.err) == (0, "Hello.\n", "")
    here, there = (each("agent", "-m", HELLO, "--session", "same", "--json") for each in (ocw, remote))
    assert there.json.keys() == here.json.keys()
    same = ("ok", "sessionKey", "sessionId", "status", "reason", "text", "reply", "model", "error")
    assert [there.json[name] for name in same] == [here.json[name] for name in same]


def test_a_tree_is_waited_for(remote: Remote) -> None:
    steps = program(spawn(program(say("done")), label="helper"), say("spawned"), say("heard"))
    done = remote("agent", "-m", as_text(steps), "--session", "far-tree", "--wait", "tree")
    assert (done.code, done.out) == (0, "spawned\nheard\n")
    assert "sub-agent spawned: helper" in done.err
    answer = remote("agent", "-m", as_text(steps), "--session", "far-tree", "--wait", "tree", "--json").json
    assert (answer["settled"], [reply["text"] for reply in answer["replies"]]) == (True, ["heard"])


def test_options_files_and_repeats_pass(remote: Remote, fleet: Fleet, tmp_path: Path) -> None:
    note = tmp_path / "note.txt"
    note.write_text("hello")
    words = ("agent", "-m", "hello", "--session", "far-options", "--model", "offline/demo", "--file", str(note))
    answers = [remote(*words, "--message-id", "far-1", "--json").json for _ in range(2)]
    assert answers[0] == answers[1]
    assert answers[0]["model"] == "offline/demo"
    assert "note.txt" in str(fleet.transcript("far-options")[0])
    assert remote("agent", "-m", HELLO, "--session", "far-options", "--no-wait").out.startswith("accepted as run-")
    assert remote("agent", "-m", "x", "--file", str(tmp_path / "missing")).code == 2


def test_a_chat_is_a_conversation(remote: Remote) -> None:
    done = remote("chat", "--session", "far-chat", stdin=f"{HELLO}\n/status\n")
    assert done.code == 0, done.err
    assert done.out.startswith("Hello.\n")
    assert "agent:main:far-chat" in done.out


def test_a_chat_in_a_terminal_is_attached(remote: Remote, ocw: Ocw, fleet: Fleet) -> None:
    with Terminal(remote, "chat", "--session", "far-chat") as terminal:
        terminal.shows("\nHello.\n")  # the last exchange
        ocw("agent", "-m", as_text(program(say("from elsewhere"))), "--session", "far-chat")
        terminal.shows("\nfrom elsewhere\n")
        terminal.type(as_text(program(say("never", delay_ms=60_000))) + "\r")
        eventually(lambda: len(fleet.events("far-chat", "run.started")) == 3, within=30)
        terminal.shows("waiting for")
        terminal.type("\x03")
        terminal.shows("[stopped]")
        terminal.type("/exit\r")

        assert terminal.wait() == 0


def test_sessions_are_changed(remote: Remote, ocw: Ocw) -> None:
    ocw("agent", "-m", HELLO, "--session", "change")
    assert remote("sessions", "label", "change", "My label").out == "agent:main:change is labelled 'My label'\n"
    assert remote("sessions", "label", "change", "--remove", "--json").json["label"] is None
    before = ocw("sessions", "show", "change", "--json").json["sessionId"]
    reset = remote("sessions", "reset", "change", "--json").json
    assert (reset["previousSessionId"], reset["sessionId"] != before) == (before, True)
    assert remote("sessions", "delete", "change", "--yes").out == "agent:main:change is deleted\n"
    assert ocw("sessions", "show", "change").code == 5


def test_runs_and_sub_agents_are_stopped_and_steered(remote: Remote, fleet: Fleet) -> None:
    gate = Gate(fleet, "far-stop")
    sent = remote(
        "agent", "-m", as_text(program(gate.step, say("late"))), "--session", "far-stop", "--no-wait", "--json"
    )
    run = sent.json["runId"]
    eventually(lambda: fleet.run(run).state == "running", within=20)
    stopped = remote("runs", "stop", run, "--wait", "--json")
    assert (stopped.code, stopped.json["state"]) == (0, "killed")
    assert remote("runs", "stop", run).code == 6

    inner = Gate(fleet, "far-child")
    steps = program(spawn(program(inner.step, say("leaf")), label="leaf"), say("started"), say("heard"))
    remote("agent", "-m", as_text(steps), "--session", "far-parent", "--wait", "turn")
    eventually(lambda: any(run.label == "leaf" and run.state == "running" for run in fleet.runs()), within=20)
    assert "reads it before its next model call" in remote("subagents", "steer", "leaf", "hurry").out
    assert remote("subagents", "stop", "leaf", "--wait").out == "'leaf' has ended\n"


def test_outbox_and_pairing_are_settled(remote: Remote, facts: dict[str, str]) -> None:
    assert remote("pairing", "approve", "telegram:8", "--json").json["subject"] == "telegram:8"
    assert remote("pairing", "revoke", "telegram:8").code == 0
    assert remote("outbox", "drop", "out-1").out == "out-1 is dropped\n"


def test_jobs_are_added_changed_run_and_removed(remote: Remote, ocw: Ocw, fleet: Fleet) -> None:
    words = ("cron", "add", "--every", "1h", "-m", HELLO, "--tool", "read", "--name", "far", "--json")
    job = remote(*words).json["id"]
    assert (
        remote("cron", "edit", job, "--cron", "@daily", "--tz", "UTC", "--json").json["schedule"] == "cron @daily (UTC)"
    )
    assert remote("cron", "run", job).code == 0
    eventually(lambda: ocw("cron", "runs", job, "--json").json["runs"], within=60)
    assert remote("cron", "pause", job, "--json").json["paused"]
    assert remote("cron", "resume", job, "--json").json["nextTimes"]
    assert remote("cron", "remove", job).out == f"{job} is removed\n"
    assert remote("memory", "index", "--agent", "main").code == 0
    assert remote("memory", "doctor", "--json").json["agentId"] == "main"


def test_ctrl_c_leaves_the_run_running(remote: Remote, fleet: Fleet) -> None:
    gate = Gate(fleet, "far-interrupt")
    process = remote.start("agent", "-m", as_text(program(gate.step, say("late"))), "--session", "far-interrupt")
    assert process.stderr is not None
    lines = iter(process.stderr.readline, "")
    assert any("exec" in line for line in lines), "it follows the turn"  # it may say first that the turn waits
    process.send_signal(signal.SIGINT)
    done = finish(process)
    gate.open()
    assert done.code == 130
    assert "continues in agent:main:far-interrupt" in done.err


@pytest.mark.parametrize(
    "words",
    [["up"], ["down"], ["worker"], ["ingress"]],
)
def test_what_works_on_the_machine_itself_says_so(remote: Remote, words: list[str]) -> None:
    done = remote(*words)
    assert done.code == 2
    assert "works on the machine of the installation" in done.err
    assert "unset OPENCLAW_URL" in done.err


def test_tokens_are_checked_and_a_wrong_address_says_so(remote: Remote, fleet: Fleet) -> None:
    read = new_token(fleet, Scope.READ)
    assert remote("status", env={"OPENCLAW_TOKEN": "wrong"}).code == 6
    assert remote("runs", "list", env={"OPENCLAW_TOKEN": read}).code == 0
    assert remote("agent", "-m", "hi", env={"OPENCLAW_TOKEN": read}).code == 6
    assert remote("status", env={"OPENCLAW_URL": "http://127.0.0.1:1"}).code == 4
    assert remote("status", env={"OPENCLAW_URL": "localhost"}).code == 2


def test_tokens_are_made_used_and_revoked(remote: Remote, ingress: Ingress) -> None:
    made = remote("tokens", "create", "--scope", "read", "--name", "far", "--json").json
    assert made.keys() == {"ok", "token", "id", "name", "scope", "agent", "person", "createdAt", "usedAt"}
    assert remote("status", env={"OPENCLAW_TOKEN": made["token"]}).code == 0
    assert remote("tokens", "list", env={"OPENCLAW_TOKEN": made["token"]}).code == 6
    link = remote("tokens", "link", made["id"]).out.strip()
    assert link.startswith(f"{ingress.url}/auth/link?code=")
    assert Api(ingress.url).http.get(link).status_code == 200
    assert remote("tokens", "revoke", made["id"]).out == f"{made['id']} is revoked\n"


def test_sessions_are_exported(remote: Remote, ocw: Ocw, facts: dict[str, str], tmp_path: Path) -> None:
    here, there = (
        each("sessions", "export", "--session", "tree", "--out", str(tmp_path / name), "--json")
        for name, each in (("here", ocw), ("there", remote))
    )
    assert (there.code, there.err) == (here.code, here.err) == (0, "")
    files = [
        [Path(path).relative_to(tmp_path / name) for path in done.json["files"]]
        for name, done in (("here", here), ("there", there))
    ]
    assert files[0] == files[1]
    for file in files[0]:
        assert _values(tmp_path / "there" / file) == _values(tmp_path / "here" / file)
    whole = remote("sessions", "export", "--out", str(tmp_path / "all"), "--json").json
    assert whole["sessions"] >= 3


def _values(file: Path) -> list[Any]:
    """The JSON of a file: one value, or one in each line."""
    text = file.read_text()
    return [json.loads(text)] if file.suffix == ".json" else [json.loads(line) for line in text.splitlines()]


def test_a_configuration_is_checked(remote: Remote, fleet: Fleet, tmp_path: Path) -> None:
    assert remote("config", "check", "--json").json["ok"]
    wrong = tmp_path / "openclaw.yaml"
    wrong.write_text("gateway: {prot: 1}\n")
    done = remote("config", "check", "--config", str(wrong), "--json")
    assert (done.code, done.json["ok"], done.json["source"]) == (3, False, str(wrong))
