"""What goes to chats: which channels push, what the send policy says, and the messages of each cause.

Scripts find the chats by themselves: those of the messages that a turn answers, or that are dropped or cancelled. So a
reply enters the outbox in the moment of its cause, whoever causes it.
"""

from __future__ import annotations

from functools import lru_cache

from openclaw_workers.clock import now_ms
from openclaw_workers.config.session import SendPolicySettings
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import BatchId, RunId, SessionKey
from openclaw_workers.domain.outgoing import NO_DELIVERY, ChatMessage, Delivery, OutgoingKind, SendDecision
from openclaw_workers.domain.runs import RunState
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.domain.shorten import shorten
from openclaw_workers.domain.transcript import NoticeEntry, dump_entry
from openclaw_workers.engine.delivery import notice_texts as texts
from openclaw_workers.engine.delivery.send_policy import send_decision
from openclaw_workers.redaction import mask_secrets
from openclaw_workers.store.turn_records import Outcome

STOPPED_BY_CHAT = frozenset({"interrupt"})
"""Reasons for a stop that need no notice: the chat itself goes on."""
SESSION_CACHE = 4096
ERROR_CHARS = 400


def push_channels(settings: Settings) -> frozenset[str]:
    """The channels whose adapter sends what the outbox holds. CLI, HTTP and page read the run record instead.

    A token is not asked for: workers do not have it, and a message from a channel came through its adapter.
    """
    channels = settings.channels
    return frozenset(name for name in type(channels).model_fields if getattr(channels, name).enabled)


class ChatDelivery:
    """Builds what each script may send to chats."""

    def __init__(self, policy: SendPolicySettings, push_channels: frozenset[str]) -> None:
        self._policy = policy
        self._channels = sorted(push_channels)
        self._policies = lru_cache(maxsize=SESSION_CACHE)(self._decide)
        self._notice = lru_cache(maxsize=SESSION_CACHE)(self._build_notice)
        self._dropped = lru_cache(maxsize=SESSION_CACHE)(self._build_dropped)

    def of_turn(self, session: SessionKey, run: RunId, outcome: Outcome) -> Delivery:
        """The answer of a turn, and what people must know about how it ended."""
        messages = tuple(turn_messages(outcome, run))
        if not messages or not self._channels:
            return NO_DELIVERY
        entry = NoticeEntry(text=texts.SUPPRESSED, level="warning", timestamp=now_ms(), run_id=run)
        return Delivery(self._policies(session), messages, dump_entry(entry))

    def of_take(self, session: SessionKey) -> Delivery:
        return self._notice(session, "reset", texts.RESET_BY_TIME)

    def of_accept(self, session: SessionKey, cap: int) -> Delivery:
        return self._dropped(session, cap)

    def _build_dropped(self, session: SessionKey, cap: int) -> Delivery:
        if not self._channels:
            return NO_DELIVERY
        notices = {"dropped": texts.DROPPED, "busy": texts.BUSY, "full": texts.FULL, "place": texts.WAITS_FOR_PLACE}
        agent = agent_of(session)
        messages = tuple(_notice(key, text.format(cap=cap, agent=agent)) for key, text in notices.items())
        return Delivery(self._policies(session), messages)

    def of_waiting(self, session: SessionKey) -> Delivery:
        """The script puts in where the files are."""
        return self._notice(session, "place", texts.WAITS_FOR_PLACE.format(agent=agent_of(session)))

    def of_stop(self, session: SessionKey, *, by_channel: str) -> Delivery:
        """`by_channel`: where the stop was ordered; its answer tells that chat."""
        notice = self._notice(session, "cancelled", texts.CANCELLED)
        return Delivery({name: said for name, said in notice.policies.items() if name != by_channel}, notice.messages)

    def of_reset(self, session: SessionKey) -> Delivery:
        return self._notice(session, "reset", texts.RESET_BY_HAND)

    def of_delete(self, session: SessionKey) -> Delivery:
        return self._notice(session, "deleted", texts.DELETED)

    def of_late_results(self, session: SessionKey) -> Delivery:
        return self._notice(session, "late", texts.LATE_RESULTS)

    def of_blocked_results(self, batch: BatchId, error: str, session: SessionKey) -> Delivery:
        return self._notice(session, "blocked", texts.BLOCKED_RESULTS.format(error=_error(error), batch=batch))

    def _build_notice(self, session: SessionKey, key: str, text: str) -> Delivery:
        return Delivery(self._policies(session), (_notice(key, text),)) if self._channels else NO_DELIVERY

    def _decide(self, session: SessionKey) -> dict[str, SendDecision]:
        """By the rules alone: a script applies the session's own choice, as it is in that moment."""
        return {name: send_decision(self._policy, session, name) for name in self._channels}


def turn_messages(outcome: Outcome, run: RunId) -> list[ChatMessage]:
    """What the chats of a turn are sent, in order."""
    messages = list(outcome.notices)
    over = outcome.state in (RunState.OK, RunState.TIMEOUT)
    if outcome.text and over:
        kind = OutgoingKind.NOTICE if outcome.reason == "budget" else outcome.kind
        messages.append(ChatMessage("reply", kind, outcome.text, always=outcome.is_command))
    match outcome.state:
        case RunState.ERROR:
            step = texts.STEPS.get(outcome.reason, texts.STEP_DEFAULT).format(run=run)
            text = texts.FAILED.format(error=_error(outcome.error), step=step)
            messages.append(ChatMessage("failed", OutgoingKind.NOTICE, text, always=outcome.is_command))
        case RunState.TIMEOUT:
            messages.append(_notice("failed", texts.TIMED_OUT.format(error=_error(outcome.error))))
        case RunState.KILLED if outcome.reason not in STOPPED_BY_CHAT:
            messages.append(_notice("stopped", texts.STOPPED))
    return messages


def fallback_notice(wanted: str, answered: str, why: str, announced: str) -> ChatMessage | None:
    """A notice of which model answers, if that has changed; `announced` is the model that the chat knows of."""
    current = "" if answered == wanted else answered
    if current == announced:
        return None
    if not current:
        return _notice("model", texts.FALLBACK_OVER.format(wanted=wanted))
    return _notice("model", texts.FALLBACK.format(wanted=wanted, why=_error(why), answered=answered))


def _error(text: str) -> str:
    """An error as a chat may read it, where strangers may be too."""
    return shorten(mask_secrets(text), ERROR_CHARS)


def _notice(key: str, text: str) -> ChatMessage:
    return ChatMessage(key, OutgoingKind.NOTICE, text)
