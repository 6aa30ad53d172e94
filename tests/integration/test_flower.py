"""Flower shows the session, worker and state of a run, but never message text."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from openclaw_workers.domain.accepted import Queued
from openclaw_workers.domain.messages import MessageState
from tests.support.fleet import Fleet, session_key
from tests.support.programs import call, execute, program, say
from tests.support.redis_server import free_port
from tests.support.waiting import eventually

USER = "ocw:a-test-password"
PLANTED = "planted-7f3a-value"
ASK = {"tool": "ask_user", "input": {"question": "Go on?"}}


@contextmanager
def flower(fleet: Fleet) -> Iterator[str]:
    """Flower as `celery -A openclaw_workers.tasks.app flower` starts it."""
    port = free_port()
    argv = ["-m", "celery", "-A", "openclaw_workers.tasks.app", "flower", "--address=127.0.0.1", f"--port={port}"]
    env = {**fleet.environment(), "FLOWER_BASIC_AUTH": USER}
    child = subprocess.Popen([sys.executable, *argv], env=env, cwd=fleet.state_dir, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        eventually(lambda: ask(f"{url}/api/workers?refresh=1"), within=40)
        yield url
    finally:
        child.kill()
        child.wait()


def ask(url: str, *, post: bool = False) -> Any:
    headers = {"Authorization": "Basic " + b64encode(USER.encode()).decode()}
    request = urllib.request.Request(url, headers=headers, data=b"" if post else None)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return json.loads(answer.read())
    except (urllib.error.URLError, OSError):
        return None


def test_a_run_is_readable_in_flower_and_its_text_is_not(bare_fleet: Fleet) -> None:
    bare_fleet.worker()
    with flower(bare_fleet) as url:
        sent = bare_fleet.send(program(say("the answer is secret-word")), "agent:main:flower")
        run = bare_fleet.outcome(sent).run
        assert run is not None

        shown = eventually(lambda: (ask(f"{url}/api/tasks") or {}).get(run.id), within=20)
        seen = eventually(lambda: (ask(f"{url}/api/tasks") or {}).get(run.id, {}).get("state") == "SUCCESS", within=20)

        assert seen
        assert shown["name"] == "openclaw.turn"
        assert shown["args"] == "(agent:main:flower)"
        assert "secret-word" not in json.dumps(ask(f"{url}/api/tasks"))


def test_a_secret_that_a_tool_was_given_is_not_in_flower(tmp_path: Path) -> None:
    secrets = {"DEPLOY_KEY": {"value": PLANTED, "tools": ["exec"]}}
    with Fleet(tmp_path / "fleet", {"secrets": secrets}) as fleet:
        fleet.worker()
        with flower(fleet) as url:
            shown = call(execute('echo "length ${#DEPLOY_KEY}: $DEPLOY_KEY"; exit 3'))
            run = fleet.outcome(fleet.send(program(shown, {"fail": "auth"}), "agent:main:flower")).run
            assert run is not None
            eventually(lambda: shown_state(url, run.id) == "FAILURE", within=30)

            assert f"length {len(PLANTED)}" in str(fleet.transcript("agent:main:flower"))
            for path in ("/api/tasks", f"/api/task/info/{run.id}", "/api/workers"):
                assert PLANTED not in json.dumps(ask(f"{url}{path}"))
            assert PLANTED not in str(fleet.stores.reader.events(run.session_key, "0"))


def test_a_failed_run_is_a_failure_in_flower(bare_fleet: Fleet) -> None:
    bare_fleet.worker()
    with flower(bare_fleet) as url:
        sent = bare_fleet.send({"steps": [{"fail": "auth"}]}, "agent:main:flower")
        run = bare_fleet.outcome(sent).run
        assert run is not None

        assert eventually(lambda: (ask(f"{url}/api/tasks") or {}).get(run.id, {}).get("state") == "FAILURE", within=20)


def shown_state(url: str, run: str | None) -> str | None:
    state: str | None = (ask(f"{url}/api/tasks") or {}).get(run, {}).get("state")
    return state


def _ended(url: str, run: str) -> str | None:
    """The state that Flower shows of a run that it shows as ended."""
    state = shown_state(url, run)
    return state if state not in (None, "PENDING", "RECEIVED", "STARTED") else None


def test_terminating_a_running_run_in_flower_stops_it_and_kills_no_worker(bare_fleet: Fleet) -> None:
    worker = bare_fleet.worker()
    with flower(bare_fleet) as url:
        busy = bare_fleet.send(program(say("never", delay_ms=60_000)), "busy")
        bare_fleet.carrier("busy")

        assert ask(f"{url}/api/task/revoke/{busy.run}?terminate=true", post=True)

        assert bare_fleet.outcome(busy, within=30).receipt.state is MessageState.CANCELLED
        shown = eventually(lambda: _ended(url, str(busy.run)), within=30)
        assert shown == "REVOKED"
        assert worker.is_running()
        assert "Traceback" not in worker.log_text()


def test_revoking_a_parked_or_queued_run_in_flower_stops_it(bare_fleet: Fleet) -> None:
    bare_fleet.worker(concurrency=1)
    with flower(bare_fleet) as url:
        parked = bare_fleet.send(program(call(ASK), say("never")), "parked")
        eventually(lambda: bare_fleet.stores.reader.control(session_key("parked")).state == "parked", within=30)
        revoke_in_flower(bare_fleet, url, parked)

        bare_fleet.send(program(say("never", delay_ms=60_000)), "busy")
        bare_fleet.carrier("busy")
        revoke_in_flower(bare_fleet, url, bare_fleet.send(program(say("never")), "waiting"))


def revoke_in_flower(fleet: Fleet, url: str, sent: Queued) -> None:
    assert ask(f"{url}/api/task/revoke/{sent.run}", post=True)

    assert fleet.outcome(sent, within=30).receipt.state is MessageState.CANCELLED
    eventually(lambda: shown_state(url, sent.run) == "REVOKED", within=30)
