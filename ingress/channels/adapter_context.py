"""What an adapter is given of the rest of the ingress."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ingress.channels.account_lease import Call
from ingress.channels.inbound import InboundIntake
from ingress.events.session_events import Hub
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Route
from openclaw_workers.store.channels import ChannelAccount, Channels
from openclaw_workers.store.outbox import Outbox
from openclaw_workers.store.reader import Reader


@dataclass(frozen=True)
class AdapterContext:
    channels: Channels
    outbox: Outbox
    reader: Reader
    hub: Hub
    intake: InboundIntake
    call: Call
    process: str
    """Host and pid, for people."""
    lease_seconds: float
    """How long a process that stops renewing keeps an account."""
    commands: Callable[[ChannelAccount], Sequence[tuple[str, str]]]
    """Slash commands for those who write to an account, those of skills last: name and summary. It may block."""
    may_send: Callable[[SessionKey, Route], bool]
    """Whether the send policy lets a session write to a chat."""
