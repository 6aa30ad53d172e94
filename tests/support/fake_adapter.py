"""An adapter of a channel that exists only in this process: it records what arrives and fails on request."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from ingress.channels.adapter import Capabilities, Part, SentPart
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingMessage

PART_MARK = "§"
"""Splits a text into parts."""


@dataclass(frozen=True)
class Arrived:
    to: str
    thread: str
    text: str
    key: str
    content: bytes = b""


@dataclass
class FakeAdapter:
    channel: str = "telegram"
    account_id: str = "bot"
    capabilities: Capabilities = field(default_factory=Capabilities)
    arrived: list[Arrived] = field(default_factory=list)
    """What reached the channel, whatever the sender was told."""
    plans: defaultdict[str, deque[Exception]] = field(default_factory=lambda: defaultdict(deque))
    """By text: how the next sends end. The channel accepts a part only if nothing is planned for it."""
    lost_answers: defaultdict[str, deque[Exception]] = field(default_factory=lambda: defaultdict(deque))
    """By text: the part arrives, but the sender is told this."""
    gates: dict[str, Callable[[], bool]] = field(default_factory=dict)
    """By text: the send waits until this is true."""

    async def run(self) -> None:
        await asyncio.Event().wait()

    def render(self, message: OutgoingMessage) -> list[Part]:
        if message.text == "unrenderable":
            raise ValueError("no such form")
        texts = [Part(payload={"text": text}) for text in message.text.split(PART_MARK) if text]
        return [*texts, *(Part(payload={"text": file.name}, file=file) for file in message.files)]

    async def send(self, route: Route, part: Part) -> SentPart:
        text = str(part.payload["text"])
        gate = self.gates.get(text, lambda: True)
        while not gate():
            await asyncio.sleep(0.01)
        if self.plans[text]:
            raise self.plans[text].popleft()
        self.arrived.append(Arrived(route.to, route.thread_id, text, part.key, part.content))
        if self.lost_answers[text]:
            raise self.lost_answers[text].popleft()
        return SentPart(message_id=f"{route.to}/{len(self.arrived)}")

    async def typing(self, route: Route) -> None:
        """Nobody looks."""

    @property
    def texts(self) -> list[str]:
        return [each.text for each in self.arrived]
