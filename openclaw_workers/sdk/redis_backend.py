"""An installation through its Redis: the same stores and queries that the command line uses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from getpass import getuser
from pathlib import Path
from typing import Any, TypeVar

from redis.asyncio import Redis

from openclaw_workers.client.aio import AsyncReader
from openclaw_workers.client.sent_files import read_files
from openclaw_workers.config.resolve import resolve_agent_id
from openclaw_workers.domain.accepted import Answered, Queued, Rejected
from openclaw_workers.domain.ids import MessageId, SessionKey, new_message_id
from openclaw_workers.domain.messages import Authority, QueueMode, Route
from openclaw_workers.engine.routing.addressing import Origin, session_for
from openclaw_workers.errors import BadInput, ConflictError
from openclaw_workers.queries.run_answers import recent_runs, run_details, runs_answer, stop_answer
from openclaw_workers.queries.runs import find_run
from openclaw_workers.queries.session_answers import (
    recent_sessions,
    session_details,
    sessions_answer,
    transcript_page,
)
from openclaw_workers.queries.sessions import find_session
from openclaw_workers.queries.trees import TreeQuery, recent_trees, trees_answer
from openclaw_workers.sdk.backend import Json, NewMessage
from openclaw_workers.sdk.local_installation import LocalInstallation
from openclaw_workers.views.answers import Answer, answer_json, rejection

T = TypeVar("T")

CHANNEL = "python"


class RedisBackend:
    """Messages have the authority of the owner: whoever reaches Redis can do everything anyway."""

    def __init__(self, installation: LocalInstallation) -> None:
        self._installation = installation

    async def close(self) -> None:
        self._installation.close()

    @asynccontextmanager
    async def reader(self) -> AsyncIterator[AsyncReader]:
        seconds = self._installation.loaded.settings.engine.accept_timeout_seconds
        redis = Redis.from_url(
            self._installation.redis_url,
            decode_responses=True,
            encoding_errors="replace",
            socket_timeout=seconds,
            socket_connect_timeout=seconds,
        )
        try:
            yield AsyncReader(redis, self._installation.stores.keys, timeout_seconds=seconds)
        finally:
            await redis.aclose()

    async def accept(self, message: NewMessage) -> Queued | Json:
        return await _in_thread(self._accept, message)

    async def sessions(self, *, limit: int, agent: str | None, label: str | None) -> Json:
        def ask() -> Json:
            return sessions_answer(self._installation, recent_sessions(self._installation, limit, agent, label=label))

        return await _in_thread(ask)

    async def session(self, key: str) -> Json:
        main_key = self._installation.session_rules.main_key
        return await _in_thread(lambda: session_details(self._installation, key).as_json(main_key))

    async def history(self, key: str, limit: int | None) -> list[Json]:
        def ask() -> list[Json]:
            return transcript_page(self._installation, find_session(self._installation, key)[0], limit)[0]

        return await _in_thread(ask)

    async def runs(self, *, limit: int, session: str | None, state: str | None) -> Json:
        def ask() -> Json:
            return runs_answer(self._installation, recent_runs(self._installation, limit, session=session, state=state))

        return await _in_thread(ask)

    async def run(self, run: str) -> Json:
        return await _in_thread(lambda: run_details(self._installation, run).as_json())

    async def tree(self, of: str | None, limit: int) -> Json:
        def ask() -> Json:
            installation = self._installation
            roots = recent_trees(installation, limit) if of is None else TreeQuery(installation, of, limit).read()
            return trees_answer(installation, roots)

        return await _in_thread(ask)

    async def stop(self, run: str) -> Json:
        return await _in_thread(stop_answer, self._installation, self._installation.control, run)

    async def steer(self, run: str, text: str) -> Json:
        return await _in_thread(self._steer, run, text)

    def _accept(self, message: NewMessage) -> Queued | Json:
        installation = self._installation
        agent = resolve_agent_id(installation.loaded.settings, explicit=message.agent, session_key=message.session)
        person = Origin(channel=CHANNEL, peer_id=_person(), session_key=message.session, agent_id=agent)
        session = session_for(person, installation.session_rules)
        message_id = MessageId(message.key or new_message_id())
        return self._say(
            session,
            message.text,
            message_id=message_id,
            mode=message.mode,
            model=message.model,
            thinking=message.thinking,
            extra_system_prompt=message.system,
            files=read_files([Path(file) for file in message.files]),
        )

    def _say(self, session: SessionKey, text: str, *, mode: str | None, **options: Any) -> Queued | Json:
        accepted = self._installation.intake.accept(
            text,
            session=session,
            route=Route(channel=CHANNEL),
            authority=Authority.OWNER,
            mode=_mode(mode),
            **options,
        )
        match accepted:
            case Answered(answer):
                return answer_json(Answer(session, "command", text=answer))
            case Rejected(_, reason):
                return answer_json(rejection(session, reason))
        return accepted

    def _steer(self, wanted: str, text: str) -> Json:
        run = find_run(self._installation, wanted)
        if self._installation.stores.inbox.current_run(run.session_key) != run.id:
            raise ConflictError(f"{run.id} is not the active run of its session", hint="send a message instead")
        accepted = self._say(run.session_key, text, mode=QueueMode.STEER)
        if isinstance(accepted, Queued):
            return answer_json(Answer(run.session_key, "accepted", run.id))
        return accepted


async def _in_thread(act: Callable[..., T], *args: Any) -> T:
    return await asyncio.to_thread(partial(act, *args))


def _mode(name: str | None) -> QueueMode | None:
    if name is None:
        return None
    if name not in list(QueueMode):
        raise BadInput(f"there is no queue mode {name!r}", hint=f"expected one of {', '.join(QueueMode)}")
    return QueueMode(name)


def _person() -> str:
    try:
        return getuser()
    except (KeyError, OSError):
        return "local"
