"""One process of the fleet receives for an account of a channel. If it dies, another one takes over."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from openclaw_workers.errors import StoreUnavailable
from openclaw_workers.store.channels import ChannelAccount, Channels, Claim

Call = Callable[..., Awaitable[Any]]
"""Runs a blocking call in a thread: `IngressContext.call`."""

LONGEST_LEASE_SECONDS = 6.0
RENEWALS = 4
"""In one lease. Another process takes over at most five quarters of a lease after the holder's last renewal."""


class AccountLost(Exception):
    """Another process receives for the account now, or may do so: this one must stop."""


class AccountLease:
    def __init__(
        self,
        channels: Channels,
        account: ChannelAccount,
        holder: str,
        call: Call,
        *,
        lease_seconds: float = LONGEST_LEASE_SECONDS,
    ) -> None:
        self._channels = channels
        self._account = account
        self._holder = holder
        self._call = call
        self._lease_ms = int(lease_seconds * 1000)
        self._renew_seconds = lease_seconds / RENEWALS
        self.token = secrets.token_hex(8)
        self._renewed_at = 0.0

    async def acquire(self) -> Claim:
        """Wait until this process receives for the account."""
        while True:
            with suppress(StoreUnavailable):
                claim = await self._claim(self._lease_ms)
                if claim.is_mine:
                    return claim
            await asyncio.sleep(self._renew_seconds)

    async def hold(self) -> None:
        """Renew the lease until it is lost.

        Raises:
            AccountLost: another process has it, or Redis was away for so long that another one may.
        """
        while True:
            await asyncio.sleep(self._renew_seconds)
            try:
                claim = await self._claim(self._lease_ms)
            except StoreUnavailable as error:
                if _now() - self._renewed_at > self._lease_ms / 1000:
                    raise AccountLost("Redis was away for longer than the lease") from error
                continue
            if not claim.is_mine:
                raise AccountLost(f"{claim.holder} receives for {self._account.name} now")

    async def release(self) -> None:
        """Let another process take over at once."""
        with suppress(StoreUnavailable):
            await self._claim(0)

    async def _claim(self, lease_ms: int) -> Claim:
        began = _now()  # the lease counts from before the call, so that it never seems longer than it is
        claim: Claim = await self._call(
            self._channels.claim, self._account, self.token, self._holder, lease_ms=lease_ms
        )
        if claim.is_mine:
            self._renewed_at = began
        return claim


def _now() -> float:
    return asyncio.get_running_loop().time()
