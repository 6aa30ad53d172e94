"""`Client`: talking to agents without asyncio. The asyncio client runs in a thread of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal

from openclaw_workers.sdk.aio import AsyncClient, AsyncStream, Wait
from openclaw_workers.sdk.results import Answer, Entry, Event, Run, Session, Stopped, Tree


class Stream:
    """What happens to one message, as it happens: iterate over it for the events, then read `answer`."""

    def __init__(self, portal: BlockingPortal, stream: AsyncStream) -> None:
        self._portal = portal
        self._stream = stream

    @property
    def answer(self) -> Answer | None:
        """Known when the events have ended."""
        return self._stream.answer

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        try:
            return self._portal.call(self._stream.__anext__)
        except StopAsyncIteration:
            raise StopIteration from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop watching; the run goes on."""
        self._portal.call(self._stream.close)

    def text(self) -> Iterator[str]:
        """Only the text, piece by piece. It ends with the committed answer, even if a worker died half-way."""
        pieces = self._stream.text()
        while True:
            try:
                yield self._portal.call(pieces.__anext__)
            except StopAsyncIteration:
                return

    def result(self) -> Answer:
        """The answer, when it is there."""
        return self._portal.call(self._stream.result)


class Client:
    """An installation. Use it with `with`, or `close` it. Arguments and errors are those of `AsyncClient`."""

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        config: str | Path | None = None,
        state_dir: str | Path | None = None,
        timeout: float = 60.0,
    ) -> None:
        self._stack = ExitStack()
        self._portal = self._stack.enter_context(start_blocking_portal())
        try:
            self._client = self._portal.call(
                lambda: AsyncClient(url, token=token, config=config, state_dir=state_dir, timeout=timeout)
            )
        except BaseException:
            self._stack.close()
            raise
        self._stack.callback(self._portal.call, self._client.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._stack.close()

    def send(self, text: str, *, wait: Wait = "reply", timeout: float | None = None, **options: Any) -> Answer:
        """Send a message and return its answer.

        `wait="tree"` also waits for the sub-agents that it starts, `wait="none"` only until it is stored. After
        `timeout` seconds the answer has the state of the run, which goes on. `options` are those of `stream`.
        """
        return self._portal.call(lambda: self._client.send(text, wait=wait, timeout=timeout, **options))

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
    ) -> Stream:
        """Send a message and watch what happens; the arguments are those of `AsyncClient.stream`."""
        stream = self._client.stream(
            text,
            session=session,
            agent=agent,
            model=model,
            thinking=thinking,
            system=system,
            mode=mode,
            files=files,
            idempotency_key=idempotency_key,
            with_tree=with_tree,
            timeout=timeout,
        )
        return Stream(self._portal, stream)

    def sessions(self, *, limit: int = 50, agent: str | None = None, label: str | None = None) -> list[Session]:
        """Sessions, last used first."""
        return self._portal.call(lambda: self._client.sessions(limit=limit, agent=agent, label=label))

    def session(self, key: str) -> Session:
        return self._portal.call(self._client.session, key)

    def history(self, key: str, *, limit: int | None = None) -> list[Entry]:
        """The transcript of a session, oldest entry first; with a limit, only the newest ones."""
        return self._portal.call(lambda: self._client.history(key, limit=limit))

    def runs(self, *, limit: int = 20, session: str | None = None, state: str | None = None) -> list[Run]:
        """Runs, newest first."""
        return self._portal.call(lambda: self._client.runs(limit=limit, session=session, state=state))

    def run(self, run_id: str) -> Run:
        return self._portal.call(self._client.run, run_id)

    def tree(self, of: str | None = None, *, limit: int = 5) -> list[Tree]:
        """The tree below a run, the trees of a session, or the newest trees."""
        return self._portal.call(lambda: self._client.tree(of, limit=limit))

    def stop(self, run_id: str) -> Stopped:
        """Stop a run and what it has spawned."""
        return self._portal.call(self._client.stop, run_id)

    def steer(self, run_id: str, text: str) -> None:
        """Send a message into a running turn, which reads it before its next model call."""
        self._portal.call(self._client.steer, run_id, text)
