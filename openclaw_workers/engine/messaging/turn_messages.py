"""What the `message` tool of one running turn may send to chats, through the outbox and by the send policy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from openclaw_workers.config.session import SendPolicySettings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.messages import Authority, Route
from openclaw_workers.domain.outgoing import Button, OutgoingAction, OutgoingFile, OutgoingKind, OutgoingMessage
from openclaw_workers.engine.delivery.send_policy import own_choice, send_decision
from openclaw_workers.engine.routing.row_fields import last_route
from openclaw_workers.engine.tree.lineage import authority_of, root_of
from openclaw_workers.errors import NotFound, ToolError
from openclaw_workers.store.outbox import Outbox
from openclaw_workers.store.reader import Reader
from openclaw_workers.store.turn_records import Taken
from openclaw_workers.tools.messaging.inputs import MessageInput
from openclaw_workers.tools.messaging.port import FileToSend

ACTIONS: Final[Mapping[str, OutgoingAction]] = {
    "send": OutgoingAction.SEND,
    "reply": OutgoingAction.SEND,
    "edit": OutgoingAction.EDIT,
    "delete": OutgoingAction.DELETE,
    "react": OutgoingAction.REACT,
    "topic-create": OutgoingAction.TOPIC,
}
NEEDS: Final[Mapping[OutgoingAction, str]] = {
    OutgoingAction.EDIT: "edit",
    OutgoingAction.DELETE: "delete",
    OutgoingAction.REACT: "react",
    OutgoingAction.TOPIC: "topics",
}
"""What the channel must be able to do."""
TARGETED: Final = (OutgoingAction.EDIT, OutgoingAction.DELETE, OutgoingAction.REACT)
"""What is done to a message that is there."""


@dataclass(frozen=True, kw_only=True)
class MessageTools:
    """What the message tools of all turns share."""

    outbox: Outbox
    reader: Reader
    policy: SendPolicySettings
    push_channels: frozenset[str]

    def for_turn(self, taken: Taken) -> TurnMessages:
        return TurnMessages(self, taken)


@dataclass(frozen=True)
class TurnMessages:
    """Implements tools.messaging.port.MessagePort for one turn."""

    tools: MessageTools
    taken: Taken

    def send(self, call_id: str, args: MessageInput, files: Sequence[FileToSend]) -> str:
        route, action = self._route(args), ACTIONS[args.action]
        self._check(route, action, has_files=bool(files), has_buttons=bool(args.buttons))
        ident = self._id(call_id)
        message = OutgoingMessage(
            id=ident,
            kind=OutgoingKind.MESSAGE,
            action=action,
            route=route,
            session_key=self.taken.lease.session,
            run_id=self.taken.lease.run,
            text=args.text,
            target_id=self._message_id(args.message_id) if action in TARGETED else "",
            emoji=args.emoji,
            title=args.name,
            reply_to=self._message_id(args.message_id) if args.action == "reply" else "",
            buttons=tuple(tuple(Button(**button.model_dump()) for button in row) for row in args.buttons),
            files=self._stored(files),
        )
        self.tools.outbox.put(message)
        return json.dumps({"status": "queued", "id": ident, "channel": route.channel, "to": route.to})

    def _id(self, call_id: str) -> str:
        # Derived from the call: a repeat after a crash puts the same message into the outbox.
        words = "\0".join((self.taken.row.get("sessionId", ""), self.taken.lease.run, call_id))
        return "out-msg-" + hashlib.sha256(words.encode()).hexdigest()[:24]

    @cached_property
    def _root(self) -> SessionKey:
        return root_of(self.taken.lease.session, self.taken.row)

    @cached_property
    def _row(self) -> Mapping[str, str]:
        own = self._root == self.taken.lease.session
        return self.taken.row if own else self.tools.reader.row(self._root)

    def _route(self, args: MessageInput) -> Route:
        """The chat of the session, or the one that is named. Only owners' turns write to other chats.

        Raises:
            ToolError: there is no such chat, or the turn may not write there.
        """
        own = last_route(self._row)
        if not args.to:
            if own.channel not in self.tools.push_channels:
                raise ToolError("this session has no chat; name one with channel and to")
            return own.model_copy(update={"thread_id": args.thread_id}) if args.thread_id else own
        channel = args.channel or own.channel
        if channel not in self.tools.push_channels:
            known = ", ".join(sorted(self.tools.push_channels)) or "none"
            raise ToolError(f"there is no channel {channel!r}; there are: {known}")
        account = args.account_id or (own.account_id if channel == own.channel else "default")
        route = Route(channel=channel, to=args.to, account_id=account, thread_id=args.thread_id)
        is_own = (route.channel, route.to, route.account_id) == (own.channel, own.to, own.account_id)
        if not is_own and not authority_of(self.taken.row, self.taken.authority).covers(Authority.OWNER):
            raise ToolError("this turn may only write to its own chat; an owner must ask for other chats")
        return route

    def _check(self, route: Route, action: OutgoingAction, *, has_files: bool, has_buttons: bool) -> None:
        """Raise ToolError if the send policy forbids it, or the session's own channel cannot do it."""
        decision = send_decision(self.tools.policy, self._root, route.channel, override=own_choice(self._row))
        if decision == "deny":
            raise ToolError(f"the send policy does not let this session write on {route.channel}")
        if route.channel != self._row.get("lastChannel") or "lastCapabilities" not in self._row:
            return  # not known here: the adapter refuses what its channel cannot do
        able = set(self._row["lastCapabilities"].split(","))
        needed = [NEEDS[action]] if action in NEEDS else []
        needed += ["files"] if has_files else []
        needed += ["buttons"] if has_buttons else []
        lacking = [name for name in needed if name not in able]
        if lacking:
            raise ToolError(f"{route.channel} cannot do this: it lacks {', '.join(lacking)}")

    def _message_id(self, given: str) -> str:
        """The channel's id of a message. An id that this tool returned stands for the message that was sent.

        Raises:
            ToolError: it was not sent yet, or is not known.
        """
        if not given.startswith("out-"):
            return given
        try:
            entry, _ = self.tools.outbox.get(given)
        except NotFound as error:
            raise ToolError(f"no message {given!r}; {error.message}") from error
        sent = [part.message_id for part in entry.parts if part.message_id]
        # Messages of other sessions may be in chats that this turn must not touch.
        if entry.message.session_key not in (self.taken.lease.session, self._root) or not sent:
            raise ToolError(f"{given} is {entry.state}; only a message of yours that was sent can be changed")
        return sent[0]

    def _stored(self, files: Sequence[FileToSend]) -> tuple[OutgoingFile, ...]:
        return tuple(self.tools.outbox.files.store(file.name, file.media_type, file.content) for file in files)
