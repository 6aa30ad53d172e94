"""Accounts of chat channels: who receives for them, what was received, and threads that wait to be created."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Route
from openclaw_workers.domain.session_key import ChatType
from openclaw_workers.domain.stored_json import SCHEMA, record_fields, record_json
from openclaw_workers.errors import StoreFull
from openclaw_workers.store.client import Client, run_script, store_errors, write
from openclaw_workers.store.keys import Keys
from openclaw_workers.store.pipelines import each_answer

REFUSED_KEPT = 200
_PLACE = ("lastChannel", "lastAccountId", "lastTo", "lastThreadId", "chatType", "rootSessionKey")
TOPIC_KEPT_S = 30 * 86_400
"""As long as the outbox keeps a message that could not be sent."""


@dataclass(frozen=True, slots=True)
class ChannelAccount:
    """One account of one channel, as `Route.channel` and `Route.account_id` name it."""

    channel: str
    account_id: str

    @property
    def name(self) -> str:
        return f"{self.channel}:{self.account_id}"


@dataclass(frozen=True, slots=True)
class Claim:
    """`holder` is empty if the caller receives for the account now."""

    holder: str = ""
    offset: int | None = None
    offset_at: int = 0
    """When it last moved (ms)."""

    @property
    def is_mine(self) -> bool:
        return not self.holder


@dataclass(frozen=True, slots=True)
class AccountState:
    """How receiving for an account stands, for people."""

    holder: str
    """Host and process that receive now; empty if none does."""
    waiting: int
    """Updates that are stored and not handled yet."""
    facts: dict[str, str]


@dataclass(frozen=True, slots=True)
class RunningChat:
    """A chat in which an agent is at work."""

    route: Route
    since: int
    """When the turn was taken that is shown there (ms)."""
    is_direct: bool
    """Only one person reads it."""
    is_running: bool
    """The session itself is at work, not only sub-agents below it."""


@dataclass(frozen=True, slots=True)
class WantedThread:
    """A session that waits for a thread in its chat."""

    session: SessionKey
    route: Route


class Channels:
    def __init__(self, redis: Client, keys: Keys) -> None:
        self._redis = redis
        self._keys = keys

    def claim(self, account: ChannelAccount, token: str, holder: str, *, lease_ms: int) -> Claim:
        """Receive for an account, or go on with it; `lease_ms` 0 gives it back."""
        reply = run_script(
            self._redis,
            "channel_claim",
            keys={"account": self._keys.channel(account.name)},
            args={"token": token, "holder": holder, "lease_ms": lease_ms},
        )
        if reply[0] == "held":
            return Claim(holder=str(reply[1]) or "another process")
        return Claim("", int(reply[1]) if reply[1] else None, int(reply[2]))

    def receive(
        self, account: ChannelAccount, updates: Mapping[int, str], *, token: str = "", offset: int | None = None
    ) -> int | None:
        """Store updates and move the offset; returns how many wait, or None if another process receives.

        Without a token the channel itself has called.

        Raises:
            StoreFull: Redis takes no new work.
        """
        reply = run_script(
            self._redis,
            "channel_receive",
            keys={
                "account": self._keys.channel(account.name),
                "received": self._keys.received(account.name),
                "memory": self._keys.memory,
            },
            args={"token": token, "offset": "" if offset is None else offset},
            more_args=[word for number, text in updates.items() for word in (number, text)],
        )
        match reply:
            case ["lost"]:
                return None
            case ["memory", percent]:
                raise StoreFull(int(percent))
        return int(reply[1])

    def received(self, account: ChannelAccount) -> dict[int, str]:
        """The updates that wait to be handled, in their order."""
        with store_errors():
            found: Any = self._redis.hgetall(self._keys.received(account.name))
        return {number: str(found[str(number)]) for number in sorted(int(each) for each in found)}

    def handled(self, account: ChannelAccount, numbers: Sequence[int]) -> None:
        write(self._redis, (self._keys.received(account.name), "HDEL", *map(str, numbers)))

    def refuse(self, account: ChannelAccount, numbers: Sequence[int], note: Mapping[str, Any]) -> None:
        """Give up updates that cannot be accepted."""
        run_script(
            self._redis,
            "channel_refuse",
            keys={
                "received": self._keys.received(account.name),
                "refused_updates": self._keys.refused_updates(account.name),
            },
            args={"note": record_json(note), "most": REFUSED_KEPT},
            more_args=list(numbers),
        )

    def refused(self, account: ChannelAccount, most: int = 20) -> list[dict[str, Any]]:
        """Notes about updates that were given up, newest first."""
        with store_errors():
            found: Any = self._redis.lrange(self._keys.refused_updates(account.name), 0, most - 1)
        return [record_fields(each, "refused update") for each in found]

    def note(self, account: ChannelAccount, **facts: str) -> None:
        """Keep facts about an account for people."""
        words = [word for pair in {**facts, "v": str(SCHEMA)}.items() for word in pair]
        write(self._redis, (self._keys.channel(account.name), "HSET", *words))

    def facts(self, account: ChannelAccount) -> dict[str, str]:
        with store_errors():
            found: Any = self._redis.hgetall(self._keys.channel(account.name))
        return {str(name): str(value) for name, value in found.items() if name != "v"}

    def state(self, account: ChannelAccount) -> AccountState:
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.hgetall(self._keys.channel(account.name))
            pipe.hlen(self._keys.received(account.name))
            (seconds, _), raw, waiting = pipe.execute()
        facts = {str(name): str(value) for name, value in raw.items() if name != "v"}
        # A holder that died leaves its name until somebody else claims the account.
        is_held = int(facts.get("until") or 0) > seconds * 1000
        return AccountState(facts.get("holder", "") if is_held else "", int(waiting), facts)

    def block(self, account: ChannelAccount, chat: str, note: Mapping[str, Any]) -> None:
        """Note that a chat takes nothing from us."""
        write(self._redis, (self._keys.blocked_chats(account.name), "HSET", chat, record_json(note)))

    def unblock(self, account: ChannelAccount, chat: str) -> None:
        write(self._redis, (self._keys.blocked_chats(account.name), "HDEL", chat))

    def blocked(self, account: ChannelAccount) -> dict[str, dict[str, Any]]:
        with store_errors():
            found: Any = self._redis.hgetall(self._keys.blocked_chats(account.name))
        return {str(chat): record_fields(note, f"blocked chat {chat}") for chat, note in found.items()}

    def busy(self, account: ChannelAccount) -> dict[SessionKey, RunningChat]:
        """Sessions that were last spoken to on this account and are at work, or have sub-agents at work."""
        with store_errors():
            taken: Any = self._redis.zrange(self._keys.running, 0, -1, withscores=True)
        since = {str(session): int(at) for session, at in taken}
        rows = self._rows(list(since))
        for session, row in list(rows.items()):
            # Sub-agents have no chat of their own. The chat of their root shows that something is at work.
            root = row.get("rootSessionKey", "")
            if root and root not in rows:
                since.setdefault(root, since[session])
        rows |= self._rows([session for session in since if session not in rows])
        running = {str(session) for session, _ in taken}
        found = {}
        for session, row in rows.items():
            if (row.get("lastChannel"), row.get("lastAccountId")) == (account.channel, account.account_id):
                to, thread = row.get("lastTo", ""), row.get("lastThreadId", "")
                route = Route(channel=account.channel, to=to, account_id=account.account_id, thread_id=thread)
                direct = row.get("chatType") == ChatType.DM
                found[SessionKey(session)] = RunningChat(route, since[session], direct, session in running)
        return found

    def _rows(self, sessions: Sequence[str]) -> dict[str, dict[str, str]]:
        """The fields of rows that tell where sessions speak."""
        with store_errors(), self._redis.pipeline(transaction=False) as pipe:
            for session in sessions:
                pipe.hmget(self._keys.row(session), _PLACE)
            values = each_answer(pipe)
        return {
            session: {name: str(value) for name, value in zip(_PLACE, row or [], strict=False) if value}
            for session, row in zip(sessions, values, strict=True)
        }

    def note_progress(self, account: ChannelAccount, session: SessionKey, route: Route, message_id: str) -> None:
        """Remember a progress message, so that it is removed even if this process dies."""
        note = record_json({"route": route.model_dump(), "message_id": message_id})
        write(self._redis, (self._keys.channel_progress(account.name), "HSET", session, note))

    def forget_progress(self, account: ChannelAccount, session: SessionKey) -> None:
        write(self._redis, (self._keys.channel_progress(account.name), "HDEL", session))

    def progress(self, account: ChannelAccount) -> dict[SessionKey, tuple[Route, str]]:
        """Progress messages that stand in chats: their routes and the channel's ids."""
        with store_errors():
            found: Any = self._redis.hgetall(self._keys.channel_progress(account.name))
        notes = {
            SessionKey(str(session)): record_fields(note, f"progress of {session}") for session, note in found.items()
        }
        return {key: (Route.model_validate(note["route"]), str(note["message_id"])) for key, note in notes.items()}

    def wanted_threads(self, account: ChannelAccount, prefix: str) -> list[WantedThread]:
        """Sessions of an account that wait for a thread; until it exists, its id begins with `prefix`."""
        pattern = f"{account.channel}|{account.account_id}|*|{prefix}*"
        with store_errors():
            found = dict(self._redis.hscan_iter(self._keys.threads, match=pattern, count=1000))
        wanted = []
        for address, session in found.items():
            channel, account_id, to, thread = str(address).split("|", 3)
            route = Route(channel=channel, account_id=account_id, to=to, thread_id=thread)
            wanted.append(WantedThread(SessionKey(str(session)), route))
        return wanted

    def count_attempt(self, route: Route) -> int:
        """Note that a wanted thread is about to be created; returns how often that was tried, this time included."""
        key = self._keys.topic(route.address())
        count, *_ = write(
            self._redis, (key, "HINCRBY", "attempts", 1), (key, "HSET", "v", SCHEMA), (key, "EXPIRE", TOPIC_KEPT_S)
        )
        return int(count)

    def forget_attempt(self, route: Route) -> None:
        """Nothing was created for certain, so that attempt does not count."""
        write(self._redis, (self._keys.topic(route.address()), "HINCRBY", "attempts", -1))

    def bind_thread(self, wanted: WantedThread, created: Route | None, *, otherwise: str = "") -> bool:
        """Bind a session to the thread that was created for it; without one it speaks in the thread `otherwise`.

        Returns False if the session no longer waits.
        """
        reply = run_script(
            self._redis,
            "bind_topic",
            keys={
                "threads": self._keys.threads,
                "row": self._keys.row(wanted.session),
                "topic_key": self._keys.topic(wanted.route.address()),
            },
            args={
                "session": wanted.session,
                "wanted": wanted.route.address(),
                "address": created.address() if created else "",
                "thread": created.thread_id if created else otherwise,
                "keep_s": TOPIC_KEPT_S,
            },
        )
        return bool(reply[0] == "bound")

    def thread_created_for(self, route: Route) -> str | None:
        """The id of the thread that a wanted one became; empty if messages go into the chat itself; None: not yet."""
        with store_errors():
            state, thread = self._redis.hmget(self._keys.topic(route.address()), ["state", "thread"])
        return str(thread or "") if state else None
