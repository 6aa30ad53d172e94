"""Commands with OPENCLAW_URL: the same output as on the machine of the installation."""

from __future__ import annotations

import json
import re
import shlex
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from openclaw_workers.cli.main import LOCAL_ONLY, cli
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage
from openclaw_workers.domain.pairing import Subject
from openclaw_workers.domain.tokens import Scope
from tests.support.fleet import Fleet
from tests.support.ingress import Api, Ingress, new_token
from tests.support.ocw import Done, Gate, Ocw, finish
from tests.support.programs import as_text, call, execute, program, say, spawn
from tests.support.remote_cases import CHANGING, FAILING, LOOKING
from tests.support.terminal import Terminal
from tests.support.waiting import eventually

UNSTEADY = {"at", "ageMs", "leaseLeftMs", "beatAt", "leaseUntil", "seenAt", "leftMs", "usedAt", "milliseconds"}
HELLO = as_text(program(say("Hello.")))
NEW_EACH_TIME = {
    "at", "time", "log", "lastReason",
    "createdAt", "updatedAt", "approvedAt", "nextAt", "nextTimes", "lastAt", "retryAt", "endedAt", "token",
    "url", "version", "previous", "rolledBackTo", "createdBy", "judgedBy", "cost", "maker", "atWork", "lastState",
}  # fmt: skip
"""Fields of two things of the same kind that differ."""
IN_TEXT = [
    "status",
    "sessions list",
    "runs tree tree",
    "agents list",
    "tools list",
    "skills list --all",
    "config history",
]
TESTED_ALONE = {
    "chat": "test_a_chat_is_a_conversation",
    "sessions export": "test_sessions_are_exported",
    "runs stop": "test_runs_and_sub_agents_are_stopped_and_steered",
    "subagents send": "test_runs_and_sub_agents_are_stopped_and_steered",
    "subagents steer": "test_runs_and_sub_agents_are_stopped_and_steered",
    "subagents stop": "test_runs_and_sub_agents_are_stopped_and_steered",
    "approvals approve": "test_questions_are_answered",
    "approvals deny": "test_questions_are_answered",
    "approvals answer": "test_questions_are_answered",
    "approvals revoke": "test_questions_are_answered",
}
"""Commands about what runs, with the tests that compare their answers."""


GROUPS = {"here": 1, "away": 2}


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
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    beats = {"every": "12h", "activeHours": {"start": "00:00", "end": "00:01"}}
    config = {
        "agents": {"list": [{"id": "main", "default": True}, {"id": "work", "heartbeat": beats}]},
        "skills": {"allowBundled": ["reporter", "weather"]},
    }
    with Fleet(tmp_path_factory.mktemp("fleet"), config) as running:
        running.ready(*(running.worker(lane, wait=False) for lane in ("main", "subagent", "service")))
        yield running


@pytest.fixture(scope="module")
def facts(fleet: Fleet, ocw: Ocw, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Something of every kind to look at."""
    steps = program(spawn(program(say("done")), label="helper"), say("spawned"), say("heard"))
    tree = ocw("agent", "-m", as_text(steps), "--session", "tree", "--wait", "tree", "--json").json
    talk = ocw("agent", "-m", HELLO, "--session", "talk", "--json").json
    route = Route(channel="telegram", to="42")
    for name in ("out-1", "out-here", "out-away"):
        fleet.stores.outbox.put(OutgoingMessage(id=name, kind=OutgoingKind.NOTICE, route=route, text="hi"))
    fleet.stores.outbox.sort()
    fleet.stores.pairings.request(Subject("telegram", person_id="7"), name="Ada", message_id="1")
    (fleet.workspace / "MEMORY.md").write_text("# Notes\n- the cabin is blue\n")
    assert ocw("memory", "index", "--agent", "main").code == 0
    job = ocw("cron", "add", "--every", "1h", "-m", HELLO, "--name", "hourly", "--json").json["id"]
    eventually(lambda: fleet.stores.schedules.get("heartbeat-work"), within=60)
    runs = {"root": tree["runId"], "child": tree["subagents"][0]["runId"], "run": talk["runId"]}
    return {
        **runs,
        "hello": HELLO,
        "job": job,
        "host": socket.gethostname(),
        **files(fleet, tmp_path_factory.mktemp("files")),
    }


def files(fleet: Fleet, folder: Path) -> dict[str, str]:
    """A configuration to publish, one with a mistake, and skills to add."""
    changed, wrong = folder / "changed.yaml", folder / "wrong.yaml"
    changed.write_text(f"{fleet.config_path.read_text()}\ncron: {{maxConcurrent: 3}}\n")
    wrong.write_text("gateway: {prot: 1}\n")
    for side in ("here", "away"):
        (folder / side).mkdir()
        (folder / side / "SKILL.md").write_text(f"---\nname: packed-{side}\ndescription: Packed.\n---\n# Do it\n")
        (folder / side / "run.sh").write_text("#!/bin/sh\n")
    return {"file": str(changed), "wrong": str(wrong), "folder": str(folder)}


def steady(value: Any) -> Any:
    """Without what changes from one look to the next."""
    if isinstance(value, dict):
        return {name: steady(each) for name, each in value.items() if name not in UNSTEADY}
    return [steady(each) for each in value] if isinstance(value, list) else value


def without_ages(text: str) -> str:
    """Text without ages and times, which change from one look to the next, and the widths that follow from them."""
    text = re.sub(
        r"\b\d\d:\d\d:\d\d\b|\b[\d.]+(?:ms|s|m|h|d)\b(?: \d+[smh]\b)?(?: ago)?|just now|in \d+\w", "TIME", text
    )
    return re.sub(r" +", " ", text)


@pytest.mark.parametrize("words", LOOKING)
def test_a_command_prints_the_same(ocw: Ocw, remote: Remote, facts: dict[str, str], words: str) -> None:
    named = [word.format(**facts) for word in shlex.split(words, posix=False)]
    here, there = ocw(*named, "--json"), remote(*named, "--json")
    assert (there.code, there.err) == (here.code, here.err)
    assert _lines(there) == _lines(here)


@pytest.mark.parametrize("words", IN_TEXT)
def test_a_command_prints_the_same_text(ocw: Ocw, remote: Remote, facts: dict[str, str], words: str) -> None:
    here, there = (each(*words.split()) for each in (ocw, remote))
    assert (there.code, there.err) == (here.code, here.err)
    assert without_ages(there.out) == without_ages(here.out)


def _lines(done: Done) -> list[Any]:
    """JSON values, one after the other; other output as it is."""
    found, rest = [], done.out.lstrip()
    while rest[:1] in ("{", "["):
        value, end = json.JSONDecoder().raw_decode(rest)
        found.append(steady(value))
        rest = rest[end:].lstrip()
    return [*found, rest]


@pytest.mark.parametrize("words", FAILING, ids=" ".join)
def test_a_command_fails_in_the_same_way(ocw: Ocw, remote: Remote, facts: dict[str, str], words: list[str]) -> None:
    named = [word.format(**facts) for word in words]
    here, there = ocw(*named, "--json"), remote(*named, "--json")
    assert there.code == here.code != 0
    assert there.json == here.json


@pytest.mark.parametrize("family", CHANGING)
def test_changes_are_made_with_the_same_answers(ocw: Ocw, remote: Remote, facts: dict[str, str], family: str) -> None:
    found = {"here": typed(ocw, "here", family, facts), "away": typed(remote, "away", family, facts)}
    assert found["away"] == found["here"]


def typed(ocw: Ocw, side: str, family: str, facts: dict[str, str]) -> list[Any]:
    """The answers of a family of commands, without what differs between two things of the same kind."""
    answers: list[Any] = []
    for words in CHANGING[family]:
        done = ocw(*(word.format(**facts, side=side, answers=answers) for word in words), "--json")
        assert done.code == 0, f"{words}: {done.out}{done.err}"
        answers.append(done.json)
    return [alike(each, side) for each in answers]


def alike(value: Any, side: str) -> Any:
    """Without times and random names; the side is called SIDE."""
    if isinstance(value, dict):
        return {alike(name, side): None if name in NEW_EACH_TIME else alike(each, side) for name, each in value.items()}
    if isinstance(value, list):
        return [alike(each, side) for each in value]
    if isinstance(value, str):
        return re.sub(r"[0-9a-f]{12,}|[0-9a-f-]{36}", "ID", value.replace(side, "SIDE"))
    return value


def test_every_command_works_through_the_address_or_says_why_not() -> None:
    typed_words = (
        [words.split() for words in LOOKING] + FAILING + [each for all_of in CHANGING.values() for each in all_of]
    )
    tested = {leaf for leaf in leaves(cli, ()) for words in typed_words if tuple(words[: len(leaf)]) == leaf}
    tested |= {tuple(name.split()) for name, test in TESTED_ALONE.items() if test in globals()}
    local = {tuple(name.split()) for name in LOCAL_ONLY}
    assert set(leaves(cli, ())) - tested == local
    assert not tested & local


def test_the_commands_that_work_only_here_are_documented_with_the_reason() -> None:
    page = (Path(__file__).parents[3] / "docs" / "cli.md").read_text()
    for name, reason in LOCAL_ONLY.items():
        assert f"| `{name}` | {reason} |" in page


def leaves(group: click.Group, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from leaves(command, (*path, name))
        else:
            yield (*path, name)


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
    ocw("agent", "-m", HELLO, "--session", "attached")
    with Terminal(remote, "chat", "--session", "attached") as terminal:
        terminal.shows("\nHello.\n")  # the last exchange
        ocw("agent", "-m", as_text(program(say("from elsewhere"))), "--session", "attached")
        terminal.shows("\nfrom elsewhere\n")
        terminal.type(as_text(program(say("never", delay_ms=60_000))) + "\r")
        eventually(lambda: len(fleet.events("attached", "run.started")) == 3, within=30)
        terminal.shows("waiting for")
        terminal.type("\x03")
        terminal.shows("[stopped]")
        terminal.type("/exit\r")

        assert terminal.wait() == 0


def test_runs_and_sub_agents_are_stopped_and_steered(ocw: Ocw, remote: Remote, fleet: Fleet) -> None:
    assert stopped(remote, fleet, "away") == stopped(ocw, fleet, "here")


def stopped(ocw: Ocw, fleet: Fleet, side: str) -> list[Any]:
    """What the commands answer that stop a run, and steer and stop a sub-agent."""
    gate, inner = Gate(fleet, f"{side}-stop"), Gate(fleet, f"{side}-child")
    steps = as_text(program(gate.step, say("late")))
    run = ocw("agent", "-m", steps, "--session", f"{side}-stop", "--no-wait", "--json").json["runId"]
    eventually(lambda: fleet.run(run).state == "running", within=20)
    answers = [ocw("runs", "stop", run, "--wait", "--json"), ocw("runs", "stop", run, "--json")]
    assert [done.code for done in answers] == [0, 6]

    spawned = program(spawn(program(inner.step, say("leaf")), label=side), say("started"), say("heard"))
    ocw("agent", "-m", as_text(spawned), "--session", f"{side}-parent", "--wait", "turn")
    eventually(lambda: any(run.label == side and run.state == "running" for run in fleet.runs()), within=20)
    orders = (["send", side, "more"], ["steer", side, "hurry"], ["stop", side, "--wait"])
    answers += [ocw("subagents", *words, "--json") for words in orders]
    assert [done.code for done in answers[2:]] == [0, 0, 0], answers
    return [alike(done.json, side) for done in answers]


def test_questions_are_answered(ocw: Ocw, remote: Remote, fleet: Fleet) -> None:
    assert answered(remote, fleet, "away") == answered(ocw, fleet, "here")


def answered(ocw: Ocw, fleet: Fleet, side: str) -> list[Any]:
    """What the commands answer that decide about commands in a group, and answer what an agent asks."""
    which = {"tool": "ask_user", "input": {"question": "Which?", "choices": ["red"]}}
    steps = [call(execute("echo one")), call(execute("echo two")), call(which), say("done")]
    sent = fleet.send(program(*steps), f"telegram:group:-{GROUPS[side]}")
    answers = [ocw("approvals", "approve", _waiting(fleet, "approval"), "--always", "--json")]
    answers += [ocw("approvals", "deny", _waiting(fleet, "approval"), "--json")]
    answers += [ocw("approvals", "answer", _waiting(fleet, "ask"), "1", "--json")]
    fleet.outcome(sent, within=60)
    answers += [ocw("approvals", "revoke", "echo one", "--json")]
    assert [done.code for done in answers] == [0, 0, 0, 0], answers
    return [alike(done.json, side) for done in answers]


def _waiting(fleet: Fleet, kind: str) -> str:
    """The id of the question that waits."""
    found = eventually(lambda: [each for each in fleet.stores.questions.open() if each.kind == kind], within=60)
    return str(found[0].id)


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


ARGUMENTS = {"config set": ["engine.leaseSeconds", "9"], "agents move": ["main"]}
"""What commands need that work only on the machine of the installation."""


@pytest.mark.parametrize(
    "words",
    [[*name.split(), *ARGUMENTS.get(name, [])] for name in LOCAL_ONLY],
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
        for name, each in (("here", ocw), ("away", remote))
    )
    assert (there.code, there.err) == (here.code, here.err) == (0, "")
    files = [
        [Path(path).relative_to(tmp_path / name) for path in done.json["files"]]
        for name, done in (("here", here), ("away", there))
    ]
    assert files[0] == files[1]
    for file in files[0]:
        assert _values(tmp_path / "away" / file) == _values(tmp_path / "here" / file)
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
