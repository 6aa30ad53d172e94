"""The outbox: messages to chats, sorted by route, claimed by senders, and what became of each (rule 17)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Literal

from openclaw_workers.domain.ids import new_token
from openclaw_workers.domain.outgoing import OutboxEntry, OutgoingMessage
from openclaw_workers.domain.stored_json import model_json, versioned
from openclaw_workers.errors import BadInput, CorruptRecord, NewerRecord, NotFound, StoreFull
from openclaw_workers.logger import get_logger
from openclaw_workers.store.client import Client, run_script, store_errors
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.outbox_files import OutboxFiles
from openclaw_workers.store.outbox_records import (
    Account,
    Claim,
    Claimed,
    OutboxCounts,
    PartOutcome,
    account_of,
    as_entry,
    pairs,
    shown_entry,
    stand_in,
)
from openclaw_workers.store.pipelines import each_answer

log = get_logger(__name__)


class Outbox:
    """The only code that reads or writes the outbox outside of the scripts that cause messages."""

    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys
        self.files = OutboxFiles(redis, keys)

    # What is sent

    def put(self, message: OutgoingMessage) -> None:
        """Put a message into the outbox. A repeat with the same id changes nothing.

        Raises:
            StoreFull: it brings files, and Redis has little memory left.
        """
        reply = run_script(
            self._redis,
            "outbox_put",
            keys={**self._keys.shared("outgoing", "memory")},
            args={"message": versioned(model_json(message, by_alias=True)), "has_files": bool(message.files)},
        )
        if reply[0] == "memory":
            raise StoreFull(int(reply[1]))

    # What senders do

    def claim(self, accounts: Sequence[Account], *, lease_ms: int, most: int) -> Claimed:
        """Claim up to `most` routes with messages. The caller sends for them until their lease ends."""
        # One token for each claim, not for each sender: a sender that lost a route and claimed it again is another
        # owner.
        token = new_token()
        wait_ms, more, found = run_script(
            self._redis,
            "outbox_claim",
            keys={**self._box(), **self._keys.shared("outbox_senders")},
            args={"token": token, "lease_ms": lease_ms, "most": most},
            more_args=[word for each in accounts for word in (each.name, int(each.dedupes))],
        )
        by_name = {each.name: each for each in accounts}
        claims = [
            self._claim(by_name[account_of(address)], address, token, (flat, parts), lease_ms=lease_ms)
            for address, _, flat, parts in found
        ]
        return Claimed(tuple(each for each in claims if each), int(wait_ms), bool(more))

    def _claim(
        self, account: Account, address: str, token: str, stored: tuple[list[str], list[str]], *, lease_ms: int
    ) -> Claim | None:
        """What to send next; a message that cannot be read fails, and the next one of the route takes its place."""
        flat, parts = stored
        raw = pairs(flat)
        try:
            return Claim(account, address, token, as_entry(raw), tuple(parts))
        except NewerRecord as error:
            # Nothing is sent on this route until the lease ends. Then whoever claims it may be newer.
            log.warning("outbox.newer", error=error.message, hint=error.hint)
            return None
        except CorruptRecord as error:
            unreadable = Claim(account, address, token, stand_in(raw), ())
            # Recorded as failed, or the message would block its route for ever.
            part = unreadable.entry.next_part
            return self.record(unreadable, part, PartOutcome.FAILED, lease_ms=lease_ms, error=error.message)

    def sending(self, claim: Claim, part: int, parts: Sequence[str], *, lease_ms: int) -> bool:
        """Note that a part is sent next; False if the caller must not send it. Safe to repeat.

        `parts`: what the message was rendered to, if it was rendered just now.
        """
        k = self._keys
        reply = run_script(
            self._redis,
            "outbox_sending",
            keys={
                **k.shared("outbox_owners"),
                "entry_key": k.outbox_entry(claim.entry.id),
                "parts_key": k.outbox_parts(claim.entry.id),
                "ready": k.outbox_ready(claim.account.name),
            },
            args={"address": claim.address, "token": claim.token, "part": part, "lease_ms": lease_ms},
            more_args=list(parts),
            repeats=True,
        )
        return bool(reply[0] == "ok")

    def record(
        self,
        claim: Claim,
        part: int,
        outcome: PartOutcome,
        *,
        lease_ms: int,
        message_id: str = "",
        error: str = "",
        delay_ms: int = 0,
        goes_on: bool = True,
    ) -> Claim | None:
        """Note how sending a part ended; returns what to send next on the route, if the caller still holds it.

        Safe to repeat. `goes_on=False` gives the route back.
        """
        reply = run_script(
            self._redis,
            "outbox_record",
            keys={**self._box()},
            args={
                "id": claim.entry.id,
                "address": claim.address,
                "account": claim.account.name,
                "token": claim.token,
                "part": part,
                "outcome": outcome,
                "message_id": message_id,
                "why": error,
                "delay_ms": delay_ms,
                "lease_ms": lease_ms,
                "dedupes": claim.account.dedupes,
                "goes_on": goes_on,
            },
            repeats=True,
        )
        if reply[0] != "next":
            return None
        _, _, flat, parts = reply
        return self._claim(claim.account, claim.address, claim.token, (flat, parts), lease_ms=lease_ms)

    def renew(self, claims: Sequence[Claim], *, lease_ms: int) -> None:
        """Hold these routes for another lease; one that was lost stays lost, and the next write says so."""
        self._hold(claims, lease_ms)

    def release(self, claims: Sequence[Claim]) -> None:
        """Give routes back at once, so that another sender need not wait for the lease to end."""
        self._hold(claims, 0)

    def _hold(self, claims: Sequence[Claim], lease_ms: int) -> None:
        held = [word for claim in claims for word in (claim.account.name, claim.address, claim.token)]
        run_script(
            self._redis,
            "outbox_renew",
            keys={**self._keys.shared("outbox_owners"), "outbox_ready": self._keys.outbox_ready("")},
            args={"lease_ms": lease_ms},
            more_args=held,
        )

    # What people do

    def retry(self, entry_id: str) -> None:
        """Send a message again that is unknown or failed, or end the pause of one that waits.

        Raises:
            NotFound: there is no such message.
            BadInput: it is being sent, or was sent or dropped.
        """
        self._settle(entry_id, "retry")

    def drop(self, entry_id: str) -> None:
        """Never send a message; raises like `retry`."""
        self._settle(entry_id, "drop")

    def _settle(self, entry_id: str, verb: Literal["retry", "drop"]) -> None:
        reply = run_script(
            self._redis,
            "outbox_decide",
            keys={**self._box()},
            args={"id": entry_id, "verb": verb},
        )
        if reply[0] == "missing":
            raise NotFound(f"no message {entry_id} in the outbox", hint="`ocw outbox list --all` shows all there are")
        if reply[0] == "no":
            state = "is being sent right now" if reply[1] == "sending" else f"was {reply[1]} already"
            raise BadInput(f"{entry_id} {state}", hint=f"`ocw outbox show {entry_id}` shows how it stands")

    def get(self, entry_id: str) -> tuple[OutboxEntry, list[dict[str, Any]]]:
        """A message and its rendered parts.

        Raises:
            NotFound: there is no such message.
        """
        self.sort()
        k = self._keys
        with store_errors():
            raw: Any = self._redis.hgetall(k.outbox_entry(entry_id))
            parts = self._redis.lrange(k.outbox_parts(entry_id), 0, -1)
        if not raw:
            raise NotFound(f"no message {entry_id} in the outbox", hint="`ocw outbox list --all` shows all there are")
        return shown_entry(raw), [json.loads(str(part)) for part in parts]

    def entries(self, *, with_sent: bool = False, limit: int = 200) -> list[OutboxEntry]:
        """Messages, newest first: those that wait, are unknown or failed; those that were sent on request."""
        self.sort()
        k = self._keys
        indexes = [k.outbox_waiting, k.outbox_kept, *([k.outbox_sent] if with_sent else [])]
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            for index in indexes:
                pipe.zrange(index, 0, limit - 1, desc=True, withscores=True)
            found = [pair for each in pipe.execute() for pair in each]
        # Each index gives its own newest; only now it is known which of them are the newest of all.
        newest = sorted(found, key=lambda pair: (-pair[1], pair[0]))[:limit]
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            for entry_id, _ in newest:
                pipe.hgetall(k.outbox_entry(str(entry_id)))
            raws = each_answer(pipe)
        return [shown_entry(raw) for raw in raws if raw]

    def counts(self) -> OutboxCounts:
        k = self._keys
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.xlen(k.outgoing)
            pipe.zcard(k.outbox_waiting)
            pipe.zcard(k.outbox_kept)
            new, waiting, kept = pipe.execute()
        return OutboxCounts(queued=int(new) + int(waiting), kept=int(kept))

    def senders(self) -> dict[str, int]:
        """`channel|account` -> when a sender last looked, in epoch milliseconds."""
        with store_errors():
            found: Any = self._redis.zrange(self._keys.outbox_senders, 0, -1, withscores=True)
        return {str(account): int(at) for account, at in found}

    def sort(self) -> None:
        """Sort new messages by route, so that what is read is complete."""
        # The script sorts a bounded number at once, so that Redis serves others in between.
        while run_script(self._redis, "outbox_sort", keys={**self._box()})[0]:
            pass

    def _box(self) -> dict[str, str]:
        """The keys of the whole outbox, under the names that its scripts declare."""
        k = self._keys
        return {
            **k.shared("outgoing", "outbox_owners", "outbox_waiting", "outbox_sent", "outbox_kept"),
            "outbox_entries": k.outbox_entry(""),
            "outbox_parts": k.outbox_parts(""),
            "outbox_files": k.outbox_file(""),
            "outbox_routes": k.outbox_route(""),
            "outbox_ready": k.outbox_ready(""),
        }
