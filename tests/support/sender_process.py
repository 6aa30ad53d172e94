"""A sender in a process of its own, on a channel that is a file; it can be told to die at a step of a delivery.

`python -m tests.support.sender_process <JSON of SenderPlan>`
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from redis.asyncio import Redis as AsyncRedis

from ingress.channels.adapter import Capabilities, Part, SentPart
from ingress.delivery.new_messages import NewMessages
from ingress.delivery.sender import Sender
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.outgoing import OutgoingMessage
from openclaw_workers.store.client import connect
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.outbox import Outbox
from openclaw_workers.store.outbox_records import Account, Claim, Claimed, PartOutcome
from tests.support.fake_adapter import PART_MARK

T = TypeVar("T")

STEPS = ("claimed", "rendered", "marked", "arrived", "answered", "recorded")
"""Where a sender can be told to die: after each of these."""
REDIS_TIMEOUT_SECONDS = 3.0


@dataclass(frozen=True)
class SenderPlan:
    redis_url: str
    namespace: str
    channel_file: str
    """What arrived: one JSON object per line."""
    die_after: str = ""
    """One of STEPS."""
    die_with: str = ""
    """The part that it dies with, by its text."""
    gate_file: str = ""
    """A send of `gated` ends only when this file exists."""
    dedupes: bool = False
    lease_seconds: float = 1.0

    def start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", "tests.support.sender_process", json.dumps(asdict(self))])

    def arrived(self) -> list[dict[str, Any]]:
        path = Path(self.channel_file)
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class FileChannel:
    """An adapter whose channel is a file, which survives the process."""

    channel = "telegram"
    account_id = "bot"

    def __init__(self, plan: SenderPlan) -> None:
        self.capabilities = Capabilities(dedupes_sends=plan.dedupes)
        self._plan = plan

    async def run(self) -> None:
        await asyncio.Event().wait()

    def render(self, message: OutgoingMessage) -> list[Part]:
        texts = [Part(payload={"text": text}) for text in message.text.split(PART_MARK)]
        return [*texts, *(Part(payload={"text": file.name}, file=file) for file in message.files)]

    async def send(self, route: Route, part: Part) -> SentPart:
        text = str(part.payload["text"])
        if not (self._plan.dedupes and any(each["key"] == part.key for each in self._plan.arrived())):
            self._write({"to": route.to, "text": text, "key": part.key, "size": len(part.content), **_digest(part)})
        self.step("arrived", text)
        while text == "gated" and not Path(self._plan.gate_file).exists():
            await asyncio.sleep(0.02)
        return SentPart(message_id=f"m-{part.key}")

    async def typing(self, route: Route) -> None:
        """Nobody looks."""

    def step(self, name: str, text: str) -> None:
        if (name, text) == (self._plan.die_after, self._plan.die_with):
            os.kill(os.getpid(), signal.SIGKILL)

    def _write(self, line: dict[str, Any]) -> None:
        handle = os.open(self._plan.channel_file, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600)
        os.write(handle, (json.dumps(line) + "\n").encode())
        os.close(handle)


def _digest(part: Part) -> dict[str, str]:
    return {"ends": base64.b64encode(part.content[:8] + part.content[-8:]).decode()} if part.content else {}


class MortalOutbox(Outbox):
    """An outbox whose user dies around the calls it makes."""

    def __init__(self, channel: FileChannel, *given: Any) -> None:
        super().__init__(*given)
        self._channel = channel

    def claim(self, accounts: Sequence[Account], *, lease_ms: int, most: int) -> Claimed:
        claimed = super().claim(accounts, lease_ms=lease_ms, most=most)
        for claim in claimed.claims:
            self._channel.step("claimed", _text(claim))
        return claimed

    def sending(self, claim: Claim, part: int, parts: Sequence[str], *, lease_ms: int) -> bool:
        self._channel.step("rendered", _text(claim))
        answer = super().sending(claim, part, parts, lease_ms=lease_ms)
        self._channel.step("marked", _text(claim))
        return answer

    def record(self, claim: Claim, part: int, outcome: PartOutcome, **how: Any) -> Claim | None:
        self._channel.step("answered", _text(claim))
        following = super().record(claim, part, outcome, **how)
        self._channel.step("recorded", _text(claim))
        return following


def _text(claim: Claim) -> str:
    """The text of the part that is next; a file goes by its name."""
    message = claim.entry.message
    return [*message.text.split(PART_MARK), *(file.name for file in message.files)][claim.entry.next_part]


async def in_thread(act: Callable[..., T], *args: Any, **named: Any) -> T:
    return await asyncio.to_thread(partial(act, *args, **named))


async def main(plan: SenderPlan) -> None:
    channel, keys = FileChannel(plan), Keys(plan.namespace)
    outbox = MortalOutbox(channel, connect(plan.redis_url), keys)
    async with AsyncRedis.from_url(plan.redis_url, socket_timeout=REDIS_TIMEOUT_SECONDS) as client:
        news = NewMessages(client, keys, timeout_seconds=REDIS_TIMEOUT_SECONDS)
        sender = Sender(
            outbox=outbox,
            adapters=[channel],
            call=in_thread,
            wait_for_new=news.wait,
            lease_seconds=plan.lease_seconds,
        )
        await sender.run()


if __name__ == "__main__":
    asyncio.run(main(SenderPlan(**json.loads(sys.argv[1]))))
