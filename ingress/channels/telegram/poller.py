"""Long polling. The offset moves in the script that stores the updates, so a crash loses none."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from telegram.error import Conflict, InvalidToken, RetryAfter, TelegramError

from ingress.channels.account_lease import AccountLost, Call
from ingress.channels.telegram.client import TelegramClient
from ingress.channels.telegram.failures import pause_seconds
from openclaw_workers.clock import now_ms
from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.channels import ChannelAccount, Channels, Claim

log = structlog.get_logger(__name__)

POLL_SECONDS = 25
MOST_UPDATES = 100
MOST_WAITING = 500
"""Above this many updates that wait to be handled, Telegram keeps the rest."""
STORE_RETRY_SECONDS = 0.5
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 10.0
BAD_TOKEN_PAUSE_SECONDS = 30.0
OFFSET_KEPT_MS = 24 * 3600 * 1000
"""After a week without messages Telegram may count from the beginning. An older offset would make it forget those."""


class Unreachable(Exception):
    """This process has not reached Telegram for a while. Another one may be luckier."""


@dataclass(frozen=True, slots=True)
class PollTimes:
    """Seconds; tests use shorter ones."""

    poll: int = POLL_SECONDS
    give_up: float = 20.0


class Poller:
    """Asks for the updates of one bot."""

    def __init__(
        self,
        client: TelegramClient,
        channels: Channels,
        account: ChannelAccount,
        call: Call,
        *,
        received: Callable[[], None],
        times: PollTimes,
    ) -> None:
        self._client = client
        self._channels = channels
        self._account = account
        self._call = call
        self._received = received
        self._times = times
        self._failures = 0
        self._failing_since = 0.0

    async def run(self, claim: Claim, token: str) -> None:
        """Poll until the account is lost.

        Raises:
            AccountLost: another process receives now.
            Unreachable: Telegram has not answered this process for a while.
        """
        offset = claim.offset if now_ms() - claim.offset_at < OFFSET_KEPT_MS else None
        while True:
            updates = await self._ask(offset)
            if updates is None:
                continue
            numbered = {number: json.dumps(each) for each in updates if (number := _number(each)) is not None}
            following = max(numbered) + 1 if numbered else None
            await self._store(numbered, following, token)
            offset = following if following is not None else offset

    async def _ask(self, offset: int | None) -> list[dict[str, Any]] | None:
        """Updates; None after a failure."""
        try:
            updates = await self._client.updates(offset, self._times.poll, MOST_UPDATES)
        except (TelegramError, TimeoutError) as error:
            await self._failed(error)
            return None
        if self._failures:
            await self._note(lastError="", failingSince="")
            log.info("telegram.reached", account=self._account.name, after=self._failures)
        self._failures = 0
        return updates

    async def _store(self, updates: dict[int, str], offset: int | None, token: str) -> None:
        """Repeat until Redis has them: Telegram forgets them only when it is asked for the next ones."""
        while True:
            try:
                waiting = await self._call(self._channels.receive, self._account, updates, token=token, offset=offset)
            except StoreUnavailable as error:
                log.warning("telegram.not_stored", account=self._account.name, error=error.message)
                await asyncio.sleep(STORE_RETRY_SECONDS)
                continue
            if waiting is None:
                raise AccountLost(f"another process receives for {self._account.name}")
            if updates:
                self._received()
            # Otherwise it asks again with nothing new, only to see whether there is room. Telegram keeps updates for
            # a day.
            if waiting <= MOST_WAITING:
                return
            updates = {}
            await asyncio.sleep(STORE_RETRY_SECONDS)

    async def _failed(self, error: Exception) -> None:
        now = asyncio.get_running_loop().time()
        if not self._failures:
            self._failing_since = now
        self._failures += 1
        # A webhook of an earlier configuration would keep all updates from us.
        if isinstance(error, Conflict) and "webhook" in str(error).lower():
            await self._remove_webhook()
        words = self._words(error)
        log.warning("telegram.poll_failed", account=self._account.name, error=words, failures=self._failures)
        await self._note(lastError=words, lastErrorAt=str(now_ms()))
        # A conflict or a wrong token is the same on every host, so giving the account away would not help.
        if now - self._failing_since > self._times.give_up and not isinstance(error, Conflict | InvalidToken):
            raise Unreachable(words)
        await asyncio.sleep(self._pause(error))

    def _pause(self, error: Exception) -> float:
        if isinstance(error, RetryAfter):
            return pause_seconds(error)
        if isinstance(error, InvalidToken):
            return BAD_TOKEN_PAUSE_SECONDS
        return min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** (self._failures - 1))

    def _words(self, error: Exception) -> str:
        if isinstance(error, Conflict):
            return f"another program asks for the updates of this bot, or a webhook is set ({error})"
        if isinstance(error, InvalidToken):
            return "Telegram does not know this token; set channels.telegram.botToken to the one BotFather gave you"
        return self._client.shown(error)

    async def _remove_webhook(self) -> None:
        try:
            await self._client.delete_webhook()
        except TelegramError as error:
            log.warning("telegram.webhook_stays", account=self._account.name, error=self._client.shown(error))

    async def _note(self, **facts: str) -> None:
        try:
            await self._call(self._channels.note, self._account, **facts)
        except StoreUnavailable:
            return  # only people read it


def _number(update: Any) -> int | None:
    number = update.get("update_id") if isinstance(update, dict) else None
    return number if isinstance(number, int) else None
