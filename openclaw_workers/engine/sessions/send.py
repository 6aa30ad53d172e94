"""`sessions_send`: a message into another session, and the wait for its answer, which holds no worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from openclaw_workers.agent.prompt.texts import WAITS_FOR_YOU
from openclaw_workers.config.resolve import agent_ids
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.accepted import Rejected
from openclaw_workers.domain.ids import MessageId, RunId, SessionKey
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.receipt import Receipt
from openclaw_workers.domain.session_key import global_key, is_subagent, main_key, normalise, parse_key
from openclaw_workers.domain.session_row import SessionEntry
from openclaw_workers.domain.transcript import AssistantEntry, UserEntry
from openclaw_workers.domain.untrusted import neutralise, wrap
from openclaw_workers.engine.intake.accept import Intake
from openclaw_workers.engine.sessions.texts_between_sessions import first_text, internal, message_id, says_nothing
from openclaw_workers.engine.sessions.visibility import Visibility
from openclaw_workers.engine.tree.child import Parent
from openclaw_workers.engine.tree.spawn_checks import Refusal, no_room
from openclaw_workers.errors import BadInput, StoreFull, TurnParked
from openclaw_workers.store.inbox import Inbox
from openclaw_workers.store.inter_session import InterSession, Wait
from openclaw_workers.store.reader import Reader
from openclaw_workers.tools.sessions.inputs import SendInput

LOOKED_BACK = 400
"""How many of the other session's last entries are searched for the answer."""


class SessionSender:
    """Sends on behalf of one running turn."""

    def __init__(
        self,
        *,
        intake: Intake,
        inbox: Inbox,
        reader: Reader,
        exchanges: InterSession,
        settings: Settings,
        sender: Parent,
        sight: Visibility,
    ) -> None:
        self._intake = intake
        self._inbox = inbox
        self._reader = reader
        self._exchanges = exchanges
        self._settings = settings
        self._sender = sender
        self._sight = sight

    def send(self, call_id: str, args: SendInput) -> str:
        """Send, wait by parking, and answer. A repeat with the same call id goes on where the first one was.

        Raises:
            TurnParked: the answer is not there yet.
        """
        ident = message_id("send", self._sender.session_id, self._sender.taken.lease.run, call_id)
        target = self._target(ident, args)
        if isinstance(target, Refusal):
            return _json(target.as_answer())
        receipt = self._inbox.receipt(target, ident)
        if receipt is None or receipt.state is MessageState.REJECTED:
            refusal = self._refusal(target, creates=args.session_key is None and args.label is None)
            if refusal is None:
                # Before the message is sent: an answer that comes before the wait begins must not be announced as well.
                if args.timeout_seconds:
                    self._exchanges.expect(target, ident, self._sender.session)
                refusal = self._post(ident, target, args.message)
            if refusal is not None:
                return _json(refusal.as_answer())
        return _json({**self._outcome(ident, target, args.timeout_seconds * 1000), "sessionKey": target})

    def _outcome(self, ident: MessageId, target: SessionKey, wait_ms: int) -> dict[str, Any]:
        accepted = {"status": "accepted", "messageId": ident, "delivery": self._delivery(target)}
        if wait_ms == 0:
            return accepted
        me = self._sender.session
        wait = self._exchanges.wait(target, ident, me, wait_ms)
        if wait.state != "waiting":
            return self._waited(ident, target, wait)
        # Looked at after we are entered as waiting: of those who close a circle, the last one sees it.
        if target in self._exchanges.waiting_for(me):
            self._exchanges.give_up(target, ident, me)
            return {**accepted, "note": WAITS_FOR_YOU}
        raise TurnParked(target, ident, wait.left_ms)

    def _waited(self, ident: MessageId, target: SessionKey, wait: Wait) -> dict[str, Any]:
        details = {"messageId": ident, "delivery": self._delivery(target)}
        receipt = wait.receipt
        if receipt is None:
            return {"status": "error", "error": "the message is gone: that session was deleted", "messageId": ident}
        details |= {"runId": receipt.run} if receipt.run else {}
        if wait.state == "over":
            note = "it has not answered yet; it goes on, and you need not send it again"
            return {"status": "timeout", "error": note, **details}
        if receipt.state is MessageState.ANSWERED:
            reply = self._reply(target, ident, receipt.run)
            if says_nothing(reply):
                return {"status": "no_reply", "reply": "", **details}
            return {"status": "ok", "reply": wrap(reply, f"session {target}"), **details}
        return {"status": "error", "error": self._failure(receipt), **details}

    def _reply(self, target: SessionKey, ident: MessageId, run: RunId | None) -> str:
        """The first final answer after the message, in the same run, which may have spoken again since."""
        asked = False
        for entry in self._reader.transcript(target, -LOOKED_BACK, -1):
            if isinstance(entry, UserEntry) and ident in entry.message_ids:
                asked = True
            elif asked and isinstance(entry, AssistantEntry) and entry.run_id == run and not entry.tool_calls:
                return entry.text
        record = self._reader.run(run) if run else None
        return (record and record.text) or ""

    def _failure(self, receipt: Receipt) -> str:
        record = self._reader.run(receipt.run) if receipt.run else None
        if receipt.state is MessageState.FAILED and record is not None and record.error:
            return neutralise(record.error)
        return f"the message was {receipt.state}" + (f" ({receipt.reason})" if receipt.reason else "")

    def _delivery(self, target: SessionKey) -> dict[str, str]:
        return {"status": "skipped"} if is_subagent(target) else {"status": "pending", "mode": "announce"}

    def _post(self, ident: MessageId, target: SessionKey, text: str) -> Refusal | None:
        me = self._sender.session
        # What a sub-agent answers goes to whoever started it, by itself; with anyone else a conversation follows.
        exchange = {
            "exchange": ident,
            "turn": "0",
            "origin": me,
            "origin_id": self._sender.session_id,
            "target": target,
        }
        about, authority = {} if is_subagent(target) else exchange, self._sender.authority
        try:
            words = first_text(me, text)
            posted = self._intake.post(internal(ident, target, me, words, authority=authority, about=about))
        except StoreFull as error:
            return Refusal("error", error.message)
        if not isinstance(posted, Rejected):
            return None
        return _no_session(target) if posted.reason == "gone" else no_room(posted.reason)

    def _refusal(self, target: SessionKey, *, creates: bool) -> Refusal | None:
        if target == self._sender.session:
            return Refusal("error", "that is your own session")
        why = self._sight.denial(target)
        if why is not None:
            return Refusal("forbidden", why)
        if parse_key(target).thread_id:
            return Refusal("error", f"{target} is a thread; write to the session it belongs to")
        if not creates and not self._reader.row(target):
            return _no_session(target)
        return None

    def _target(self, ident: MessageId, args: SendInput) -> SessionKey | Refusal:
        settings, mine = self._settings, self._sender.agent.id
        if args.session_key is not None:
            try:
                return normalise(args.session_key, default_agent=mine, main_key=settings.session.main_key)
            except BadInput as error:
                return Refusal("error", error.message)
        if args.label is not None:
            # One that has answered may be gone since, and its label with it; the answer is still to be read.
            asked = self._exchanges.asked(ident, self._sender.session)
            return asked or self._labelled(ident, args.label, args.agent_id)
        agent = args.agent_id or mine
        if agent not in agent_ids(settings):
            return Refusal("error", f"no agent {agent!r}; there are {', '.join(agent_ids(settings))}")
        return global_key(agent) if settings.session.scope == "global" else main_key(agent, settings.session.main_key)

    def _labelled(self, ident: MessageId, label: str, agent: str | None) -> SessionKey | Refusal:
        found = [
            entry.session_key
            for entry in self._candidates(label)
            if agent in (None, entry.agent_id)
            and self._sight.denial(entry.session_key, {"spawnedBy": entry.spawned_by or ""}) is None
        ]
        found.sort()
        sent = [key for key in found if self._inbox.receipt(key, ident)]
        if sent:
            return sent[0]
        if len(found) == 1:
            return found[0]
        if found:
            return Refusal(
                "error", f"several sessions are labelled {label!r}: {', '.join(found[:10])}; name one by key"
            )
        return Refusal("error", f"no session you can see is labelled {label!r}")

    def _candidates(self, label: str) -> Iterator[SessionEntry]:
        """Sessions with this label: what the sender has spawned, and others. Many sub-agents may have the same one."""
        mine = [entry for entry in self._reader.spawned(self._sender.session) if entry.label == label]
        yield from mine
        known = {entry.session_key for entry in mine}
        yield from (entry for entry in self._reader.labelled(label) if entry.session_key not in known)


def _no_session(target: SessionKey) -> Refusal:
    return Refusal("error", f"no session {target}; sessions_list shows those there are")


def _json(answer: dict[str, Any]) -> str:
    return json.dumps(answer, ensure_ascii=False)
