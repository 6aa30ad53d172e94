"""Sends Celery tasks by name, with ids only: no message text enters a queue or Flower."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import structlog
from celery import Celery
from celery.exceptions import TimeoutError as CeleryTimeout
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from openclaw_workers.clock import now_ms
from openclaw_workers.domain.ids import BatchId, RunId, SessionKey
from openclaw_workers.domain.runs import Lane, lane_of, queue_of
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.domain.stored_json import SCHEMA
from openclaw_workers.engine.wake import shown_args
from openclaw_workers.errors import BadInput, TransientError
from openclaw_workers.store.client import FULL, Client, write
from openclaw_workers.store.keys import Keys, queue_name
from openclaw_workers.store.wake_messages import INDEX, SCHEMA_HEADER, WOKEN_AT, MessageTemplate, WakeTemplates
from openclaw_workers.tasks.kombu.wake_message import message_template, published_in_memory

log = structlog.get_logger(__name__)

TURN = "openclaw.turn"
SUBAGENT = "openclaw.subagent"
ANNOUNCE = "openclaw.announce"
PROMPT = "openclaw.prompt"
SANDBOX = "openclaw.sandbox"
SANDBOXES = "openclaw.sandboxes"
SANDBOX_PRUNE = "openclaw.sandbox_prune"
SKILLS = "openclaw.skills"
TOOLS = "openclaw.tools"
MEMORY_NOTE = "openclaw.memory_note"
CHORD_OVER_SECONDS = 86_400
VERSIONED = {SCHEMA_HEADER: SCHEMA}
UNREACHABLE = (OperationalError, RedisError, OSError)


class CeleryWaker:
    """Implements engine.wake.Waker on Celery's queues."""

    def __init__(
        self, app: Celery, redis: Client, namespace: str, route: Callable[[str], str] = lambda agent_id: ""
    ) -> None:
        """`route`: the place whose workers get the wake-ups of an agent; "" if any worker of the lane may."""
        self._app = app
        self._route = route
        self._blanks: dict[Lane, MessageTemplate] = {}
        self._redis = redis
        self._keys = Keys(namespace)

    def turn(self, session: SessionKey, run: RunId, *, place: str | None = None) -> bool:
        return self._send(TURN, [session, run], self._queue(session, place), run, shown_args(session))

    def wake_text(self, session: SessionKey, run: RunId) -> str:
        lane = queue_of(lane_of(session))
        if lane not in self._blanks:
            self._blanks[lane] = message_template(self._app, TURN, lane)
        return self._blanks[lane].fill([session, run], task_id=run, shown=shown_args(session))

    def chord(self, batch: BatchId, headers: Sequence[tuple[SessionKey, RunId]]) -> bool:
        """Celery's own chord protocol, with ids of ours, so that any process can publish any part of it again."""
        try:
            self._app.backend.set_chord_size(batch, len(headers))
        except UNREACHABLE as error:
            log.warning("chord.publish_failed", batch=batch, error=str(error))
            return False
        published = [self.header(*each, batch, index) for index, each in enumerate(headers)]
        return all(published)

    def header(self, session: SessionKey, run: RunId, batch: BatchId, index: int) -> bool:
        options = self._in_chord(batch, index)
        return self._send(SUBAGENT, [session, run], self._queue(session), run, shown_args(session), **options)

    def templates(self) -> WakeTemplates:
        """For clients that wake workers without Celery."""
        backend: Any = self._app.backend
        return WakeTemplates(
            turns={lane: message_template(self._app, TURN, lane) for lane in (Lane.MAIN, Lane.SUBAGENT)},
            header=message_template(self._app, SUBAGENT, Lane.SUBAGENT, **self._in_chord("@BATCH@", INDEX)),
            chord_size_key=backend.get_key_for_group("@BATCH@", ".s").decode(),
        )

    def _in_chord(self, batch: str, index: int) -> dict[str, Any]:
        # Its own id is the batch: Flower shows that once, and no random id that widens the column.
        shown = {"task_id": batch, "argsrepr": "()", "headers": VERSIONED}
        body = self._app.signature(ANNOUNCE, args=[batch], immutable=True, queue=Lane.SERVICE, **shown)
        return {"group_id": batch, "group_index": index, "chord": body}

    def forget_chord(self, batch: BatchId) -> None:
        backend: Any = self._app.backend
        try:
            # Celery's own note that a chord is over: without it a late header would start a new count.
            backend.client.set(backend.get_key_for_group(batch, ".c"), "done", nx=True, ex=CHORD_OVER_SECONDS)
            backend.client.delete(*(backend.get_key_for_group(batch, part) for part in (".j", ".t", ".s", ".d")))
        except UNREACHABLE as error:
            log.debug("chord.cleanup_failed", batch=batch, error=str(error))

    def prompt(self, agent_id: str, seconds: float = 15) -> dict[str, Any]:
        """Ask a worker of the service lane for an agent's system prompt.

        Raises:
            TransientError: none answered.
            BadInput: it could not be built.
        """
        problem = f"the prompt of {agent_id} cannot be built"
        return self._ask_service(PROMPT, [agent_id], problem, seconds, agent_id)

    def sandbox(self, session: SessionKey, seconds: float = 30) -> dict[str, Any]:
        """Ask a worker of the service lane where the commands of a session run.

        Raises:
            TransientError: none answered.
            BadInput: it could not tell.
        """
        problem = f"the sandbox of {session} are unknown"
        return self._ask_service(SANDBOX, [session], problem, seconds, agent_of(session))

    def sandboxes(self, seconds: float = 15) -> dict[str, Any]:
        """Ask a worker of the service lane which sandboxes its state directory holds.

        Raises:
            TransientError: none answered.
            BadInput: it could not tell.
        """
        return self._ask_service(SANDBOXES, [], "the sandboxes are unknown", seconds)

    def prune_sandboxes(self, everything: bool, seconds: float = 30) -> dict[str, Any]:
        """Have a worker of the service lane delete sandboxes that nobody uses.

        Raises:
            TransientError: none answered.
            BadInput: it could not.
        """
        return self._ask_service(SANDBOX_PRUNE, [everything], "the sandboxes cannot be deleted", seconds)

    def skills(self, agents: Sequence[str], with_text_of: str, seconds: float = 15) -> dict[str, Any]:
        """Ask a worker of the service lane for the skills of agents.

        Raises:
            TransientError: none answered.
            BadInput: it could not tell.
        """
        one = agents[0] if len(agents) == 1 else ""
        return self._ask_service(SKILLS, [list(agents), with_text_of], "the skills are unknown", seconds, one)

    def tools(self, session: SessionKey, authority: str, seconds: float = 15) -> dict[str, Any]:
        """Ask a worker of the service lane which tools a session's turns have.

        Raises:
            TransientError: none answered.
            BadInput: it could not tell.
        """
        problem = f"the tools of {session} are unknown"
        return self._ask_service(TOOLS, [session, authority], problem, seconds, agent_of(session))

    def _ask_service(self, task: str, args: list[Any], problem: str, seconds: float, agent: str = "") -> dict[str, Any]:
        """`agent`: ask a worker that sees its files."""
        try:
            asked = self._app.send_task(
                task,
                args=args,
                queue=queue_name(Lane.SERVICE, self._place_of(agent) if agent else ""),
                expires=seconds,
                ignore_result=False,
                retry=False,
                headers=VERSIONED,
            )
            report: dict[str, Any] = asked.get(timeout=seconds)
        except (*UNREACHABLE, CeleryTimeout) as error:
            hint = "`ocw status` shows the workers, `ocw up` starts them"
            raise TransientError("no worker of lane service answered", hint=hint) from error
        except Exception as error:
            # Celery raises what the worker raised, or something by the same name.
            raise BadInput(f"{problem}: {error}") from error
        asked.forget()
        return report

    def memory_note(self, session_id: str) -> bool:
        return self._send(MEMORY_NOTE, [session_id], Lane.SERVICE, f"memory-note-{session_id}", f"({session_id})")

    def oldest_ms(self, session: SessionKey) -> int:
        try:
            raw = self._redis.lindex(self._keys.broker_queue(self._queue(session)), -1)
            return int(json.loads(str(raw))["headers"][WOKEN_AT]) if raw else 0
        except (RedisError, ValueError, KeyError, TypeError):
            return 0

    def _queue(self, session: SessionKey, place: str | None = None) -> str:
        """The queue of a session's lane, or that of its workers which see a place."""
        chosen = self._place_of(agent_of(session)) if place is None else place
        return queue_name(queue_of(lane_of(session)), chosen)

    def _place_of(self, agent_id: str) -> str:
        try:
            return self._route(agent_id)
        except TransientError:
            return ""  # whoever gets it passes it on

    def _send(self, name: str, args: list[Any], queue: str, task_id: str, shown: str, **options: Any) -> bool:
        task = {
            "name": name,
            "args": args,
            "queue": queue,
            "task_id": task_id,
            "argsrepr": shown,
            "kwargsrepr": "{}",
            "ignore_result": True,
            "retry": False,
            "headers": {WOKEN_AT: now_ms(), **VERSIONED},
            **options,
        }
        try:
            self._app.send_task(**task)
        except UNREACHABLE as error:
            if any(word in str(error) for word in FULL):
                return self._push(task, queue)
            log.warning("wake.publish_failed", task=name, id=task_id, error=str(error))
            return False
        return True

    def _push(self, task: dict[str, Any], queue: str) -> bool:
        """A full Redis takes no message from Celery. It is put into the queue by a script, which it does take."""
        message = published_in_memory(self._app, queue, **task)
        try:
            write(self._redis, (self._keys.broker_queue(queue), "LPUSH", json.dumps(message)))
        except TransientError as error:
            log.warning("wake.publish_failed", task=task["name"], id=task["task_id"], error=error.message)
            return False
        return True
