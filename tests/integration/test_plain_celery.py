"""A worker started with Celery's own command, as the README describes."""

from __future__ import annotations

import base64
import json
import subprocess
import sys

from redis.client import PubSub

from tests.support.fleet import Fleet
from tests.support.programs import program, say


def test_celerys_own_command_starts_a_worker_that_answers(bare_fleet: Fleet) -> None:
    argv = [sys.executable, "-m", "celery", "-A", "openclaw_workers.tasks.app", "worker", "-Q", "main"]
    log = bare_fleet.directory / "celery.log"
    with log.open("wb") as output:
        worker = subprocess.Popen(
            argv, env=bare_fleet.environment(), cwd=bare_fleet.state_dir, stdout=output, stderr=output
        )
    overheard = bare_fleet.stores.redis.pubsub()  # type: ignore[no-untyped-call]
    overheard.psubscribe("*")
    try:
        outcome = bare_fleet.outcome(bare_fleet.send(program(say("by Celery's command"))), within=40)
        bindings = bare_fleet.stores.redis.keys("*:_kombu.binding.*")
    finally:
        worker.terminate()
        code = worker.wait(timeout=40)

    assert outcome.text == "by Celery's command", log.read_text()
    assert code == 0, log.read_text()
    assert bare_fleet.stores.workers.all() == []
    # Gossip and mingle grow with the square of the fleet: each worker would hear all events and greet all others.
    assert "celeryev" not in {str(key).rpartition(".")[2] for key in bindings}
    assert "hello" not in spoken(overheard)


def spoken(overheard: PubSub) -> list[str]:
    """The methods of all broadcasts to workers."""
    heard = iter(lambda: overheard.get_message(timeout=0.2), None)
    broadcasts = [json.loads(message["data"]) for message in heard if message["type"] == "pmessage"]
    bodies = [json.loads(base64.b64decode(broadcast["body"])) for broadcast in broadcasts]
    return [body["method"] for body in bodies if "method" in body]
