"""The send policy's decision table, and what a turn sends to its chats."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.config.channels import ChannelsSettings
from openclaw_workers.config.session import SendPolicySettings
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.messages import MessageState
from openclaw_workers.domain.outgoing import OutgoingKind, SendDecision
from openclaw_workers.domain.runs import RunState
from openclaw_workers.engine.delivery.chats import ChatDelivery, fallback_notice, push_channels, turn_messages
from openclaw_workers.engine.delivery.send_policy import send_decision
from openclaw_workers.store.turn_records import Outcome

MAIN = "agent:main:main"
GROUP = "agent:main:discord:group:7"
TOPIC = "agent:main:telegram:group:7:topic:3"
CHANNEL = "agent:main:slack:channel:C1"
DM = "agent:main:telegram:dm:42"
CRON = "agent:work:cron:daily"
RUN = RunId("run-1")


def rule(action: str, **match: str) -> dict[str, Any]:
    return {"action": action, "match": match}


def policy(*rules: dict[str, Any], default: str = "allow") -> SendPolicySettings:
    return SendPolicySettings.model_validate({"rules": rules, "default": default})


@pytest.mark.parametrize(
    ("rules", "default", "session", "channel", "said"),
    [
        ([], "allow", MAIN, "telegram", "allow"),
        ([], "deny", MAIN, "telegram", "deny"),
        # every given part must match
        ([rule("deny", channel="discord", chat_type="group")], "allow", GROUP, "discord", "deny"),
        ([rule("deny", channel="discord", chat_type="group")], "allow", GROUP, "telegram", "allow"),
        ([rule("deny", channel="discord", chat_type="group")], "allow", DM, "discord", "allow"),
        ([rule("deny", channel="Discord ")], "allow", GROUP, "discord", "deny"),
        # dm is direct, a topic is a thread and in its group, a channel is not a group
        ([rule("deny", chat_type="dm")], "allow", DM, "telegram", "deny"),
        ([rule("deny", chat_type="direct")], "allow", DM, "telegram", "deny"),
        ([rule("deny", chat_type="direct")], "allow", MAIN, "telegram", "deny"),
        ([rule("deny", chat_type="dm")], "allow", TOPIC, "telegram", "allow"),
        ([rule("deny", chat_type="thread")], "allow", TOPIC, "telegram", "deny"),
        ([rule("deny", chat_type="group")], "allow", TOPIC, "telegram", "deny"),
        ([rule("deny", chat_type="thread")], "allow", GROUP, "discord", "allow"),
        ([rule("deny", chat_type="channel")], "allow", CHANNEL, "slack", "deny"),
        ([rule("deny", chat_type="group")], "allow", CHANNEL, "slack", "allow"),
        # keyPrefix: the full key, or the key without its agent part; rawKeyPrefix: only the full key
        ([rule("deny", key_prefix="cron:")], "allow", CRON, "telegram", "deny"),
        ([rule("deny", key_prefix="agent:work:cron:")], "allow", CRON, "telegram", "deny"),
        ([rule("deny", key_prefix="agent:main:")], "allow", CRON, "telegram", "allow"),
        ([rule("deny", key_prefix="daily")], "allow", CRON, "telegram", "allow"),
        ([rule("deny", raw_key_prefix="cron:")], "allow", CRON, "telegram", "allow"),
        ([rule("deny", raw_key_prefix="agent:work:")], "allow", CRON, "telegram", "deny"),
        # any matching deny wins, then any matching allow, then the default
        ([rule("allow"), rule("deny", channel="telegram")], "allow", DM, "telegram", "deny"),
        ([rule("deny", channel="telegram"), rule("allow")], "allow", DM, "telegram", "deny"),
        ([rule("allow", channel="telegram")], "deny", DM, "telegram", "allow"),
        ([rule("allow", channel="telegram")], "deny", DM, "slack", "deny"),
        ([rule("deny")], "allow", DM, "telegram", "deny"),
    ],
)
def test_rules(rules: list[dict[str, Any]], default: str, session: str, channel: str, said: str) -> None:
    assert send_decision(policy(*rules, default=default), SessionKey(session), channel) == said


@pytest.mark.parametrize("override", ["allow", "deny"])
def test_the_session_s_own_choice_wins(override: SendDecision) -> None:
    for rules in (policy(rule("deny")), policy(rule("allow"), default="deny")):
        assert send_decision(rules, SessionKey(MAIN), "telegram", override=override) == override


def test_channels_that_are_switched_off_do_not_push() -> None:
    assert push_channels(Settings()) == {"telegram"}
    off = ChannelsSettings.model_validate({"telegram": {"enabled": False}})
    assert push_channels(Settings(channels=off)) == frozenset()


def test_what_scripts_are_given_follows_the_policy() -> None:
    chats = ChatDelivery(policy(rule("deny", channel="telegram", chat_type="group")), frozenset({"telegram", "slack"}))
    assert chats.of_take(SessionKey(TOPIC)).policies == {"slack": "allow", "telegram": "deny"}
    assert chats.of_take(SessionKey(DM)).policies == {"slack": "allow", "telegram": "allow"}
    assert chats.of_stop(SessionKey(DM), by_channel="telegram").policies == {"slack": "allow"}
    nowhere = ChatDelivery(policy(), frozenset())
    assert nowhere.of_accept(SessionKey(DM), 20).as_json == '{"policies":{},"messages":[]}'


@pytest.mark.parametrize(
    ("state", "reason", "text", "sent"),
    [
        (RunState.OK, "complete", "hello", [("reply", "reply", "hello")]),
        (RunState.OK, "silent", "", []),
        (RunState.OK, "budget", "no money", [("reply", "notice", "no money")]),
        (RunState.KILLED, "interrupt", "half", []),
    ],
)
def test_what_a_turn_sends(state: RunState, reason: str, text: str, sent: list[tuple[str, str, str]]) -> None:
    outcome = Outcome(state, reason, MessageState.ANSWERED, text=text)
    assert [(each.key, each.kind, each.text) for each in turn_messages(outcome, RUN)] == sent


def test_a_failed_turn_says_why_and_what_to_do() -> None:
    failed = Outcome(RunState.ERROR, "rate_limit", MessageState.FAILED, error="the model call failed")
    (message,) = turn_messages(failed, RUN)
    assert message.kind is OutgoingKind.NOTICE
    assert "the model call failed" in message.text
    assert "/model" in message.text
    leaky = Outcome(RunState.ERROR, "error", MessageState.FAILED, error="key sk-0123456789abcdef " + "x" * 1000)
    assert "0123456789abcdef" not in turn_messages(leaky, RUN)[0].text
    assert len(turn_messages(leaky, RUN)[0].text) < 600
    unexpected = Outcome(RunState.ERROR, "error", MessageState.FAILED, error="it broke")
    assert "ocw runs show run-1" in turn_messages(unexpected, RUN)[0].text


def test_a_turn_that_took_too_long_sends_what_there_is() -> None:
    outcome = Outcome(RunState.TIMEOUT, "timeout", MessageState.FAILED, text="half", error="600 s are over")
    assert [each.key for each in turn_messages(outcome, RUN)] == ["reply", "failed"]


def test_a_stopped_turn_sends_no_half_answer() -> None:
    outcome = Outcome(RunState.KILLED, "killed", MessageState.CANCELLED, text="half", error="stopped")
    assert [each.key for each in turn_messages(outcome, RUN)] == ["stopped"]


def test_a_fallback_is_reported_once_per_change() -> None:
    first = fallback_notice("a/one", "b/two", "Rate Limit Exceeded", announced="")
    assert first is not None
    assert first.text == ("⚠️ Primary model (a/one) failed: Rate Limit Exceeded\n✅ Switched to fallback: b/two")
    assert fallback_notice("a/one", "b/two", "still", announced="b/two") is None
    other = fallback_notice("a/one", "c/three", "both", announced="b/two")
    assert other is not None
    back = fallback_notice("a/one", "a/one", "", announced="c/three")
    assert back is not None
    assert back.text == "✅ a/one answers again."
    assert fallback_notice("a/one", "a/one", "", announced="") is None
