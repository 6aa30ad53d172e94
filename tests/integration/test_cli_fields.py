"""docs/cli.md lists exactly the fields that every command prints with `--json`."""

from __future__ import annotations

import json
import signal
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from openclaw_workers.cli.main import cli
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingKind, OutgoingMessage
from openclaw_workers.domain.pairing import Subject
from openclaw_workers.domain.runs import Run
from openclaw_workers.domain.tree import BatchState
from openclaw_workers.sandbox.directory import SANDBOXES_DIR, SandboxDirectory, SandboxInfo
from openclaw_workers.store.channels import ChannelAccount
from openclaw_workers.store.outbox_records import Account, PartOutcome
from tests.support.cli_docs import PAGE, CliDocs
from tests.support.fake_telegram import TOKEN, FakeTelegram
from tests.support.fleet import Fleet, session_key
from tests.support.ingress import start_ingress
from tests.support.ocw import Gate, Ocw, finish
from tests.support.pdfs import pdf
from tests.support.programs import Program, as_text, call, execute, program, say, spawn
from tests.support.redis_server import free_port
from tests.support.waiting import eventually
from tests.support.wire import Failure, Reply, WireServer

WITHOUT_FIELDS = {"worker", "ingress", "config schema"}
"""Two print logs, the third a JSON schema."""

Answers = dict[str, list[Any]]


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@pytest.fixture(scope="module")
def telegram() -> Iterator[FakeTelegram]:
    with FakeTelegram() as fake:
        yield fake


@pytest.fixture(scope="module")
def engine(server: WireServer, telegram: FakeTelegram, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """A worker for each lane. One agent is scripted, the other uses a model that thinks and may fail."""
    models = [{"id": "m", "reasoning": True}]
    provider = {"baseUrl": server.url, "api": "anthropic-messages", "apiKey": "k", "models": models}
    wired = {
        "id": "wired",
        "model": {"primary": "wire/m", "fallbacks": ["offline/script"]},
        "thinkingDefault": "low",
        "sandbox": {"mode": "non-main"},
        "heartbeat": {"every": "12h", "activeHours": {"start": "00:00", "end": "00:01"}},
        "compaction": {"keepRecentTokens": 1, "memoryFlush": {"enabled": False}},
    }
    config = {
        "channels": {"telegram": {"botToken": TOKEN, "apiRoot": telegram.url}},
        "models": {"providers": {"wire": provider}},
        "agents": {"list": [{"id": "main", "default": True}, wired]},
        "engine": {"leaseSeconds": 8.0},
        "budgets": {"tree": {"tokens": 1_000_000_000}},
        "plugins": {"modules": ["no_such_plugin"]},
        "mcp": {"startWaitSeconds": 0, "servers": {"gone": {"command": "no-such-program"}}},
    }
    with Fleet(tmp_path_factory.mktemp("house"), config) as fleet:
        fleet.workspace.mkdir(parents=True)
        (fleet.workspace / "AGENTS.md").write_text("Be brief.\n")
        (fleet.workspace / "dot.png").write_bytes(b"\x89PNG\r\n\x1a\nimage")
        (fleet.workspace / "scan.pdf").write_bytes(pdf(""))
        fleet.ready(*(fleet.worker(lane, wait=False) for lane in ("main", "subagent", "service")))
        yield fleet


def test_the_printed_fields_are_the_documented_ones(engine: Fleet, server: WireServer, tmp_path: Path) -> None:
    docs, asking = CliDocs(PAGE.read_text()), Asking(engine, server, tmp_path)

    asking.talks()
    asking.subagents()
    asking.what_is_there()
    asking.outbox()
    asking.schedules()
    asking.people()
    asking.questions()
    asking.tokens()
    asking.runs_and_endings()
    asking.channels()
    asking.set_up()
    asking.failures()

    assert asking.answers.keys() == docs.commands.keys()
    problems = dict.fromkeys(
        each for command, answers in asking.answers.items() for one in answers for each in docs.problems(command, one)
    )
    assert list(problems) == []
    assert docs.never_seen() == []


def test_every_command_has_its_fields_documented() -> None:
    documented = {
        " ".join(word for word in name.split() if word.islower()) for name in CliDocs(PAGE.read_text()).commands
    }

    assert set(commands(cli, "")) - documented == WITHOUT_FIELDS


def commands(group: click.Group, path: str) -> Iterator[str]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from commands(command, f"{path}{name} ")
        else:
            yield f"{path}{name}"


class Asking:
    """Runs commands and keeps their answers by the documented name of the command."""

    def __init__(self, fleet: Fleet, server: WireServer, directory: Path) -> None:
        self.fleet, self.server, self.directory = fleet, server, directory
        self.ocw = Ocw(fleet)
        self.answers: Answers = defaultdict(list)

    def ask(self, name: str, *words: str, code: int = 0, stdin: str = "", **env: str) -> Any:
        done = self.ocw(*words, "--json", stdin=stdin, env=env, within=120)
        assert done.code == code, f"{words}: {done.out}{done.err}"
        self.answers[name].append(done.json)
        return done.json

    def say(self, session: str, message: str | Program, *options: str, code: int = 0) -> Any:
        return self.ask("agent", "agent", "--session", session, "-m", as_text(message), *options, code=code)

    def talks(self) -> None:
        shown = [{"tool": "read", "input": {"path": name}} for name in ("dot.png", "scan.pdf")]
        self.plain = self.say("plain", program(call(execute("echo x"), *shown), say("done")), "--file", str(PAGE))
        self.say("plain", "/status")
        self.say("plain", program({"fail": "billing"}), code=1)
        self.server.script += [
            Reply("One. " * 500, thinking="hm"),
            Reply("Two."),
            Reply("In short."),
            Failure(401, "no such key"),
        ]
        for text in ("one", "two", "/compact", "three"):
            self.say("agent:wired:main", text)
        self.tree()
        self.ask("chat", "chat", "--session", "chat", stdin=as_text(program(say("hello"))) + "\n")

    def tree(self) -> None:
        """The sub-agent ends after the turn that spawned it, so that there is a reply."""
        gate = Gate(self.fleet, "tree")
        spoken = as_text(program(spawn(program(gate.step, say("found")), label="settled"), say("asked"), say("heard")))
        waiting = self.ocw.start("agent", "--json", "--wait", "tree", "--session", "tree", "-m", spoken)
        eventually(lambda: [run for run in self.fleet.runs() if (run.text, run.state) == ("asked", "ok")], within=60)
        gate.open()
        done = finish(waiting)
        assert done.code == 0, done.err
        self.answers["agent --wait tree"].append(done.json)

    def questions(self) -> None:
        """In a group commands are asked for, whoever wants them."""
        group, which = "telegram:group:-5", {"tool": "ask_user", "input": {"question": "Which?", "choices": ["red"]}}
        steps = [call(execute("echo one")), call(execute("echo two")), call(which), say("done")]
        sent = self.fleet.send(program(*steps), group)
        self.ask("approvals approve", "approvals", "approve", self.waiting("approval"), "--always")
        self.ask("approvals deny", "approvals", "deny", self.waiting("approval"))
        self.ask("approvals answer", "approvals", "answer", self.waiting("ask"), "1")
        self.fleet.outcome(sent, within=60)
        self.ask("approvals list", "approvals", "list")
        self.ask("approvals revoke", "approvals", "revoke", "echo one")

    def waiting(self, kind: str) -> str:
        """The id of the question that waits."""
        found = eventually(lambda: [q for q in self.fleet.stores.questions.open() if q.kind == kind], within=60)
        self.ask("approvals list", "approvals", "list")
        return str(found[0].id)

    def subagents(self) -> None:
        gate = Gate(self.fleet, "held")
        held = self.child("held", gate)
        self.ask("subagents info", "subagents", "info", "held")
        self.ask("subagents steer", "subagents", "steer", "held", "hurry up")
        self.ask("subagents send", "subagents", "send", "settled", as_text(program(say("more"))), "--wait")
        self.ask("subagents stop", "subagents", "stop", held.id, "--wait")
        self.blocked()
        self.parked()
        self.ask("subagents list", "subagents", "list")
        self.ask("subagents log", "subagents", "log", "settled")

    def child(self, name: str, gate: Gate) -> Run:
        """A sub-agent of a session of its own, at work until the gate opens."""
        task = program(gate.step, say("late"))
        self.fleet.outcome(self.fleet.send(program(spawn(task, label=name), say("ok"), say("heard")), name))
        (child,) = self.fleet.stores.tree.children(session_key(name))
        eventually(lambda: self.fleet.run(child.id).state == "running", within=30)
        return child

    def parked(self) -> None:
        """A sub-agent that waits for one of its own."""
        gate = Gate(self.fleet, "parked")
        inner = program(spawn(program(gate.step, say("leaf")), label="leaf"), say("waiting"), say("middle done"))
        self.fleet.outcome(self.fleet.send(program(spawn(inner, label="middle"), say("ok"), say("heard")), "parked"))
        (middle,) = self.fleet.stores.tree.children(session_key("parked"))
        eventually(lambda: self.fleet.run(middle.id).state == "parked", within=30)
        gate.open()
        eventually(lambda: self.fleet.run(middle.id).settled_at, within=30)
        self.ask("runs show", "runs", "show", middle.id)

    def blocked(self) -> None:
        gate = Gate(self.fleet, "blocked")
        child, stores = self.child("blocked", gate), self.fleet.stores
        assert child.batch is not None
        batch, inbox = child.batch, stores.keys.inbox(session_key("blocked"))
        # A parent whose inbox cannot take the result; all retries are used up.
        stores.redis.set(inbox, "broken")
        stores.redis.hset(stores.keys.batch(batch), "tries", 9)
        gate.open()
        eventually(lambda: (found := stores.tree.batch(batch)) and found.state is BatchState.BLOCKED, within=30)
        stores.redis.delete(inbox)
        self.ask("status", "status")
        self.ask("subagents retry", "subagents", "retry", batch)

    def logs(self) -> None:
        folder = self.fleet.state_dir / "logs"
        folder.mkdir(exist_ok=True)
        (folder / "worker-main.log").write_text("2026-11-17 22:12:12 worker.ready lane=main\n")
        self.ask("logs", "logs")
        self.ask("doctor", "doctor", "--no-probe")

    def what_is_there(self) -> None:
        damaged = self.fleet.stores.keys.log(session_key("plain"))
        self.fleet.stores.redis.rpush(damaged, "garbage")
        self.ask("sessions history", "sessions", "history", "plain")
        self.ask("sessions history", "sessions", "history", "agent:wired:main")
        self.ask("sessions list", "sessions", "list")
        self.ask("sessions show", "sessions", "show", "plain")
        self.ask("sessions tree", "sessions", "tree")
        self.ask("sessions label", "sessions", "label", "plain", "a plain one")
        self.ask("runs list", "runs", "list")
        self.ask("runs tree", "runs", "tree", "tree")
        self.ask("runs watch RUN", "runs", "watch", self.plain["runId"])
        (child,) = {run.id: run for run in self.fleet.stores.tree.children(session_key("held"))}
        for run in (self.plain["runId"], child, str(self.fleet.run(child).parent_run_id)):
            self.ask("runs show", "runs", "show", run)
        self.ask("usage", "usage")
        self.logs()
        self.ask("models list", "models", "list")
        self.ask("models status", "models", "status")
        self.ask("models resume", "models", "resume", "wire")
        self.ask("models status", "models", "status")
        self.ask("agents list", "agents", "list")
        self.sandboxes()
        self.ask("tools list", "tools", "list")
        self.ask("tools explain", "tools", "explain", "exec")
        self.ask("plugins list", "plugins", "list")
        self.ask("plugins check", "plugins", "check", code=1)
        eventually(lambda: self.ocw("mcp", "status", "--json").json["workers"], within=60)
        self.ask("mcp status", "mcp", "status")
        self.ask("agents prompt", "agents", "prompt", "main")
        self.ask("agents prompt", "agents", "prompt", "main", "--sizes")
        self.fleet.stores.moves.begin("main", "elsewhere", "f" * 32, with_files=True)
        self.ask("agents move", "agents", "move", "main", "--cancel")
        self.memory()
        self.skills()
        self.ask("completion", "completion", "bash")

    def sandboxes(self) -> None:
        directory = SandboxDirectory(self.fleet.state_dir / SANDBOXES_DIR)
        times = {"created_at": 1, "idle_ms": 1, "max_age_ms": 0, "busy_ms": 0}
        directory.use(SandboxInfo("agent-wired", "wired", "agent:wired:x", "agent", "none", "/w", 600_001, **times))
        self.ask("sandbox list", "sandbox", "list")
        self.ask("sandbox explain", "sandbox", "explain", "--session", "main")
        self.ask("sandbox explain", "sandbox", "explain", "--session", "agent:wired:telegram:group:-9")
        self.ask("sandbox prune", "sandbox", "prune")

    def memory(self) -> None:
        (self.fleet.workspace / "MEMORY.md").write_text("- the cabin is blue\n" + "- more\n" * 9_000)
        self.ask("memory index", "memory", "index", "--force")
        self.ask("memory status", "memory", "status")
        self.ask("memory search", "memory", "search", "cabin done", "--agent", "main")
        self.ask("memory search", "memory", "search", '"cabin"', "--session", "main")
        self.ask("memory get", "memory", "get", "MEMORY.md", "--from", "1", "--lines", "1")
        self.ask("memory get", "memory", "get", "MEMORY.md")
        self.ask("memory files", "memory", "files")
        self.ask("memory doctor", "memory", "doctor")
        self.ask("sessions search", "sessions", "search", "done")

    def skills(self) -> None:
        requires = {"requires": {"bins": ["sh"]}, "os": ["linux", "darwin"], "primaryEnv": "KEY"}
        metadata = json.dumps({"openclaw": {**requires, "install": [{"kind": "brew", "formula": "sh"}]}})
        folder = self.directory / "sample"
        folder.mkdir()
        head = f"---\nname: sample\ndescription: d\nhomepage: https://example.org\nmetadata: {metadata}\n---\n"
        (folder / "SKILL.md").write_text(head)
        self.ask("skills add", "skills", "add", str(folder), "--yes")
        self.ask("skills new", "skills", "new", "fresh")
        (self.fleet.workspace / "skills" / "broken.md").write_text("nothing")
        self.ask("skills list", "skills", "list", "--all")
        self.ask("skills show", "skills", "show", "sample")
        self.ask("skills check", "skills", "check", code=1)

    def outbox(self) -> None:
        store, route = self.fleet.stores.outbox, Route(channel="telegram", account_id="bot", to="42", thread_id="7")
        file = store.files.store("photo.png", "image/png", b"png")
        for name in ("a", "b"):
            store.put(OutgoingMessage(id=name, kind=OutgoingKind.REPLY, route=route, text="hello", files=(file,)))
        (claim,) = store.claim([Account("telegram", "bot")], lease_ms=5000, most=1).claims
        store.sending(claim, 0, ['{"payload": {"text": "hello"}}'], lease_ms=5000)
        store.record(claim, 0, PartOutcome.UNKNOWN, error="cut off", lease_ms=5000)
        self.ask("outbox list", "outbox", "list")
        self.ask("outbox show", "outbox", "show", "a")
        self.ask("outbox retry", "outbox", "retry", "a")
        self.ask("outbox drop", "outbox", "drop", "b")
        self.ask("outbox list", "outbox", "list", "--all", "--state", "dropped")

    def schedules(self) -> None:
        added = self.ask("cron add", "cron", "add", "--every", "1h", "-m", "hello", "--name", "hourly")
        job = added["id"]
        self.ask("cron run", "cron", "run", job)
        eventually(lambda: self.fleet.stores.schedules.log(job), within=60)
        self.ask("cron runs", "cron", "runs", job)
        self.ask("cron edit", "cron", "edit", job, "--cron", "@daily", "--tz", "Europe/Berlin")
        self.ask("cron pause", "cron", "pause", job)
        self.ask("cron resume", "cron", "resume", job)
        self.ask("cron list", "cron", "list")
        self.ask("cron remove", "cron", "remove", job)
        eventually(lambda: self.fleet.stores.schedules.get("heartbeat-wired"), within=60)
        self.ask("heartbeat run", "heartbeat", "run", "wired")
        eventually(lambda: self.fleet.stores.schedules.log("heartbeat-wired"), within=60)
        self.ask("heartbeat pause", "heartbeat", "pause", "wired")
        self.ask("heartbeat resume", "heartbeat", "resume", "wired")
        self.ask("heartbeat status", "heartbeat", "status")

    def people(self) -> None:
        pairings = self.fleet.stores.pairings
        for reason, person in (("not-allowed", "8"), ("dm-disabled", "9")):
            pairings.refuse(Subject("telegram", person_id=person), name="Eve", reason=reason, message_id="1")
        pairings.request(Subject("telegram", person_id="7"), name="Ada", message_id="1")
        self.ask("pairing approve", "pairing", "approve", "telegram:6")
        self.ask("pairing list", "pairing", "list")
        self.ask("pairing revoke", "pairing", "revoke", "telegram:6")

    def runs_and_endings(self) -> None:
        gate = Gate(self.fleet, "busy")
        watching = self.ocw.start("runs", "watch", "--json")
        run = self.say("busy", program(gate.step, say("never")), "--no-wait")["runId"]
        eventually(lambda: self.fleet.run(run).state == "running", within=30)
        assert watching.stdout is not None
        self.answers["runs watch"].append(json.loads(watching.stdout.readline()))
        watching.send_signal(signal.SIGINT)
        finish(watching)
        redis, keys = self.fleet.stores.redis, self.fleet.stores.keys
        redis.hset(keys.archives, "sid-1", "{}")  # another host has started it, and results came late
        redis.hset(keys.archiving("sid-1"), mapping={"waits": "1", "host": "far.example:/state"})
        self.ask("status", "status")
        (host,) = {each["host"] for each in self.ask("status", "status")["workers"] if each["alive"]}
        self.ask("drain", "drain", host)
        self.ask("undrain", "undrain", host)
        self.ask("status --damaged", "status", "--damaged")
        self.ask("runs stop", "runs", "stop", run, "--wait")
        self.ask("sessions export", "sessions", "export", "--out", str(self.directory / "out"))
        row = self.fleet.stores.keys.row(session_key("plain"))
        self.fleet.stores.redis.hset(row, "lastInteractionAt", "1")
        self.ask("sessions cleanup", "sessions", "cleanup", "--dry-run")
        self.ask("sessions reset", "sessions", "reset", "busy")
        self.ask("sessions delete", "sessions", "delete", "busy", "--yes")

    def channels(self) -> None:
        account, channels = ChannelAccount("telegram", "default"), self.fleet.stores.channels
        channels.receive(account, {1: "damaged"})
        channels.refuse(account, [1], {"at": 1, "updates": [1], "chat": "7", "reason": "damaged"})
        channels.block(account, "7", {"at": 1, "reason": "blocked"})
        self.ask("channels list", "channels", "list")
        self.ask("channels status", "channels", "status", "telegram")
        self.ask("channels test", "channels", "test", "telegram")

    def tokens(self) -> None:
        ident = self.ask("tokens create", "tokens", "create")["id"]
        start_ingress(self.fleet)
        self.ask("tokens link", "tokens", "link", ident)
        self.ask("tokens list", "tokens", "list")
        self.ask("tokens revoke", "tokens", "revoke", ident)

    def set_up(self) -> None:
        broken = self.directory / "broken.yaml"
        broken.write_text("lanez: {}\n")
        for command in ("check", "show"):
            self.ask(f"config {command}", "config", command)
            self.ask(f"config {command}", "--config", str(broken), "config", command, code=3)
        self.ask("config example", "config", "example")
        self.ask("config get", "config", "get", "cron.maxConcurrent")
        own = self.directory / "own.yaml"
        own.write_text(self.fleet.config_path.read_text())
        self.ask("config set", "--config", str(own), "config", "set", "cron.maxConcurrent", "5")
        new = self.directory / "new.yaml"
        self.ask("init", "--config", str(new), "init", "--provider", "none", "--yes", "--no-start")
        changed = self.directory / "changed.yaml"
        changed.write_text(f"{self.fleet.config_path.read_text()}\ncron: {{maxConcurrent: 3}}\n")
        self.ask("config apply", "config", "apply", str(changed))
        self.ask("config history", "config", "history")
        self.ask("config rollback", "config", "rollback")
        second = Ocw(self.fleet)
        del second.env["OPENCLAW_CONFIG"]
        second.env["OPENCLAW_STATE_DIR"] = str(self.directory / "second")
        for name, words in (("up", ["up", "--detach", "--no-flower"]), ("down", ["down"])):
            done = finish(second.start(*words, "--json"), within=120)
            assert done.code == 0, done.err
            self.answers[name].append(done.json)

    def failures(self) -> None:
        broken, nobody = str(self.directory / "broken.yaml"), f"redis://127.0.0.1:{free_port()}/0"
        self.ask("a failure", "runs", "show", "run-0", code=5)
        self.ask("a failure", "runs", "list", "--limit", "none", code=2)
        self.ask("a failure", "sessions", "delete", "plain", code=2)
        self.ask("a failure", "--local-config", "--config", broken, "sessions", "list", code=3)
        self.ask("a failure", "status", code=4, REDIS_URL=nobody)
        self.ask("a failure", "runs", "stop", self.plain["runId"], code=6)
