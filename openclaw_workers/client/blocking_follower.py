"""Carries out the steps of a conversation one after the other. How a request is answered is left to the subclass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from openclaw_workers.client.protocol import Request, Stepper, Steps, Update
from openclaw_workers.errors import OpenClawError

T = TypeVar("T")


class BlockingFollower:
    """Carries out the steps of conversations; a subclass knows how to read."""

    def follow(self, steps: Steps[Any]) -> Iterator[Update]:
        """The updates of a conversation, as they arrive."""
        stepper = Stepper(steps)
        step = stepper.advance()
        while step is not None:
            if isinstance(step, Request):
                step = self._answer(stepper, step)
            else:
                yield step
                step = stepper.advance()

    def result(self, steps: Steps[T]) -> T:
        """The value that the steps return, for steps without updates."""
        stepper = Stepper(steps)
        step = stepper.advance()
        while step is not None:
            assert isinstance(step, Request), "only a conversation has updates"
            step = self._answer(stepper, step)
        return stepper.result  # type: ignore[return-value]  # the last step has been taken

    def _answer(self, stepper: Stepper[Any], request: Request[Any]) -> Request[Any] | Update | None:
        try:
            answer = self._read(request)
        # The conversation decides: it waits out a Redis that is away, and ends with every other error.
        except OpenClawError as error:
            return stepper.fail(error)
        return stepper.advance(answer)

    def _read(self, request: Request[Any]) -> Any:
        raise NotImplementedError
