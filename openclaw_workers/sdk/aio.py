"""`AsyncClient`: talking to agents on asyncio."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from openclaw_workers.client.answer_text import AnswerText
from openclaw_workers.domain.accepted import Queued
from openclaw_workers.sdk.backend import Backend, NewMessage
from openclaw_workers.sdk.connect import open_backend
from openclaw_workers.sdk.conversation import ANSWER, follow
from openclaw_workers.sdk.results import Answer, Entry, Event, Run, Session, Stopped, Tree

Wait = Literal["none", "reply", "tree"]


class AsyncStream:
    """What happens to one message, as it happens: iterate over it for the events, then read `answer`."""

    def __init__(self, backend: Backend, message: NewMessage, *, with_tree: bool, timeout: float | None) -> None:
        self._steps = self._follow(backend, message, with_tree=with_tree, timeout=timeout)
        self.answer: Answer | None = None
        """Known when the events have ended."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        step = await anext(self._steps)
        if isinstance(step, Event):
            return step
        self.answer = step
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Stop watching; the run goes on."""
        await self._steps.aclose()

    async def text(self) -> AsyncIterator[str]:
        """Only the text, piece by piece. It ends with the committed answer, even if a worker died half-way."""
        given = AnswerText()
        async for event in self:
            piece = given.finish(event.data.get("text")) if event.type == ANSWER else given.add(event)
            if piece:
                yield piece

    async def result(self) -> Answer:
        """The answer, when it is there."""
        async for _ in self:
            pass
        assert self.answer is not None, "the events end with the answer"
        return self.answer

    @staticmethod
    async def _follow(
        backend: Backend, message: NewMessage, *, with_tree: bool, timeout: float | None
    ) -> AsyncGenerator[Event | Answer]:
        accepted = await backend.accept(message)
        if not isinstance(accepted, Queued):
            yield Answer.model_validate(accepted)
            return
        async with backend.reader() as reader:
            steps = follow(reader, accepted, with_tree=with_tree, seconds=timeout)
            async with aclosing(steps):
                async for step in steps:
                    yield step


class AsyncClient:
    """An installation. Use it with `async with`, or `close` it.

    Args:
        url: `http://…` of an ingress, or `redis://…`. Without one: OPENCLAW_URL, then REDIS_URL, the configuration, or
            a running `ocw up` of the state directory.
        token: for HTTP; else OPENCLAW_TOKEN.
        config, state_dir: for Redis, as the options of `ocw`.
        timeout: seconds that one HTTP request may take.

    Every method raises `openclaw_workers.errors.OpenClawError`: `BadInput` for what cannot be used, `NotFound`,
    `ConflictError`, `AccessDenied`, `StoreUnavailable` if nobody answers.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        config: str | Path | None = None,
        state_dir: str | Path | None = None,
        timeout: float = 60.0,
    ) -> None:
        self._backend = open_backend(url, token=token, config=config, state_dir=state_dir, timeout=timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._backend.close()

    async def send(self, text: str, *, wait: Wait = "reply", timeout: float | None = None, **options: Any) -> Answer:
        """Send a message and return its answer.

        `wait="tree"` also waits for the sub-agents that it starts, `wait="none"` only until it is stored. After
        `timeout` seconds the answer has the state of the run, which goes on. `options` are those of `stream`.
        """
        if wait == "none":
            accepted = await self._backend.accept(new_message(text, **options))
            return accepted_answer(accepted)
        stream = self.stream(text, with_tree=wait == "tree", timeout=timeout, **options)
        async with stream:
            return await stream.result()

    def stream(
        self,
        text: str,
        *,
        session: str = "",
        agent: str = "",
        model: str | None = None,
        thinking: str | None = None,
        system: str | None = None,
        mode: str | None = None,
        files: Sequence[str | Path] = (),
        idempotency_key: str | None = None,
        with_tree: bool = False,
        timeout: float | None = None,
    ) -> AsyncStream:
        """Send a message and watch what happens.

        Args:
            text: the message, or a /command.
            session: such as `notes` or `agent:main:main`; default: the main session.
            agent: default: the default agent.
            model, thinking, system: for this turn only.
            mode: how a busy session treats it: collect, followup, steer, steer-backlog, interrupt or reject.
            files: to attach.
            idempotency_key: a repeat with the same one makes no second turn.
            with_tree: also watch the replies to sub-agents that the turn starts.
            timeout: stop watching after so many seconds.
        """
        message = new_message(
            text,
            session=session,
            agent=agent,
            model=model,
            thinking=thinking,
            system=system,
            mode=mode,
            files=files,
            idempotency_key=idempotency_key,
        )
        return AsyncStream(self._backend, message, with_tree=with_tree, timeout=timeout)

    async def sessions(self, *, limit: int = 50, agent: str | None = None, label: str | None = None) -> list[Session]:
        """Sessions, last used first."""
        found = await self._backend.sessions(limit=limit, agent=agent, label=label)
        return [Session.model_validate(each) for each in found["sessions"]]

    async def session(self, key: str) -> Session:
        return Session.model_validate(await self._backend.session(key))

    async def history(self, key: str, *, limit: int | None = None) -> list[Entry]:
        """The transcript of a session, oldest entry first; with a limit, only the newest ones."""
        return [Entry.model_validate(each) for each in await self._backend.history(key, limit)]

    async def runs(self, *, limit: int = 20, session: str | None = None, state: str | None = None) -> list[Run]:
        """Runs, newest first."""
        found = await self._backend.runs(limit=limit, session=session, state=state)
        return [Run.model_validate(each) for each in found["runs"]]

    async def run(self, run_id: str) -> Run:
        return Run.model_validate(await self._backend.run(run_id))

    async def tree(self, of: str | None = None, *, limit: int = 5) -> list[Tree]:
        """The tree below a run, the trees of a session, or the newest trees."""
        found = await self._backend.tree(of, limit)
        return [Tree.model_validate(each) for each in found["trees"]]

    async def stop(self, run_id: str) -> Stopped:
        """Stop a run and what it has spawned."""
        return Stopped.model_validate(await self._backend.stop(run_id))

    async def steer(self, run_id: str, text: str) -> None:
        """Send a message into a running turn, which reads it before its next model call.

        Raises:
            ConflictError: the run is not the active one of its session.
        """
        await self._backend.steer(run_id, text)


def new_message(
    text: str,
    *,
    session: str = "",
    agent: str = "",
    model: str | None = None,
    thinking: str | None = None,
    system: str | None = None,
    mode: str | None = None,
    files: Sequence[str | Path] = (),
    idempotency_key: str | None = None,
) -> NewMessage:
    paths = [Path(file) for file in files]
    return NewMessage(text, session, agent, model, thinking, system, mode, paths, idempotency_key)


def accepted_answer(accepted: Queued | dict[str, Any]) -> Answer:
    if not isinstance(accepted, Queued):
        return Answer.model_validate(accepted)
    return Answer(ok=True, status="accepted", session_key=accepted.session_key, run_id=accepted.run)
