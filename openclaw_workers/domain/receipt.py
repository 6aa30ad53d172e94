"""How one accepted message stands."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from openclaw_workers.domain.ids import RunId
from openclaw_workers.domain.messages import MessageState


class Receipt(BaseModel):
    """How one accepted message stands."""

    model_config = ConfigDict(extra="ignore", defer_build=True)

    state: MessageState
    seq: int | None = None
    run: RunId | None = None
    reason: str | None = None
    accepted_at: int = 0
    at: int = 0
