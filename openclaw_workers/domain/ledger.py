"""The ledger: one entry per model call, whoever made it and however it ended."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.transcript import Usage


class ModelCall(BaseModel):
    """What one call took. `outcome` is ok, aborted, a failure's reason, or lost when its worker died meanwhile."""

    model_config = ConfigDict(extra="ignore", frozen=True)

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
    milliseconds: int = 0
    outcome: str = "ok"
    estimated: bool = False
    """The provider's own count is not known."""

    @property
    def day(self) -> str:
        return day_of(self.at)

    def amounts(self) -> dict[str, float]:
        """What it takes from a budget."""
        return {"tokens": self.usage.total, "cost": self.cost, "calls": 1, "seconds": self.milliseconds / 1000}


def call_id(run: RunId, owner: int | str, number: int) -> str:
    """Of the calls that one owner of a run makes, by their number: its heir knows the id of the call it died over."""
    return f"{run}:{owner}:{number}"


def call_after(last: str, run: RunId, owner: int) -> str:
    """The id of the call that follows an owner's last known one, if there is any."""
    prefix, _, number = last.rpartition(":")
    known = int(number) if prefix == f"{run}:{owner}" and number.isdecimal() else 0
    return call_id(run, owner, known + 1)


def same_owner(one: str, other: str) -> bool:
    """Whether two calls, by their ids, were made by one owner of one run."""
    return one.rpartition(":")[0] == other.rpartition(":")[0]


Dimension = Literal["agent", "session", "model", "day", "tree"]


def day_of(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d")
