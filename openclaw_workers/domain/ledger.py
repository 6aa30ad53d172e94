"""The ledger: one entry per model call, whoever made it and whatever its outcome."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.transcript import Usage


class ModelCall(BaseModel):
    """What one call used. `outcome` is ok, aborted, a failure reason, or lost if the worker died during the call."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    id: str
    at: int
    run: RunId
    session: SessionKey
    agent: str
    tree: SessionKey
    """The root session."""
    provider: str
    model: str
    profile: str = ""
    usage: Usage
    cost: float = 0.0
    is_priced: bool = True
    """The price of the model is known; otherwise the cost is not."""
    milliseconds: int = 0
    outcome: str = "ok"
    estimated: bool = False
    """The provider did not report its own token count."""

    @property
    def day(self) -> str:
        return day_of(self.at)

    def amounts(self) -> dict[str, float]:
        """What the call takes from a budget."""
        return {"tokens": self.usage.total, "cost": self.cost, "calls": 1, "seconds": self.milliseconds / 1000}


def call_id(run: RunId, owner: int | str, number: int) -> str:
    """The id of the n-th call that one owner of a run makes. The next owner can derive it after a crash."""
    return f"{run}:{owner}:{number}"


def next_call_id(last: str, run: RunId, owner: int) -> str:
    """The id of the call that follows `last`; of the owner's first call if `last` is not one of its calls."""
    prefix, _, number = last.rpartition(":")
    known = int(number) if prefix == f"{run}:{owner}" and number.isdecimal() else 0
    return call_id(run, owner, known + 1)


def is_same_owner(one: str, other: str) -> bool:
    """Whether the same owner of the same run made both calls."""
    return one.rpartition(":")[0] == other.rpartition(":")[0]


Dimension = Literal["agent", "session", "model", "day", "tree", "peer", "channel"]


def day_of(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")
