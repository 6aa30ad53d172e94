"""Looking at many records at once, of which some may be damaged."""

from __future__ import annotations

from typing import Any

from redis.client import Pipeline
from redis.exceptions import ResponseError


def each_answer(pipe: Pipeline) -> list[Any]:
    """What each command answered; None where its key holds another type than the command is for.

    redis-py would raise for the whole pipeline, and one damaged record would hide all the others. For commands that
    never answer None by themselves.
    """
    return usable(pipe.execute(raise_on_error=False))


def usable(answers: list[Any]) -> list[Any]:
    """The same for the answers of a pipeline that does not raise."""
    for answer in answers:
        if isinstance(answer, Exception) and not _is_unfit(answer):
            raise answer
    return [None if isinstance(answer, Exception) else answer for answer in answers]


def _is_unfit(error: Exception) -> bool:
    return isinstance(error, ResponseError) and str(error).startswith("WRONGTYPE")
