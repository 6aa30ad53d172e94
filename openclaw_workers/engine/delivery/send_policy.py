"""The send policy: whether a session may send to its chat."""

from __future__ import annotations

from collections.abc import Mapping

from openclaw_workers.config.session import SendMatchSettings, SendPolicySettings
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.outgoing import SendDecision
from openclaw_workers.domain.session_key import Kind, parse_key


def send_decision(
    policy: SendPolicySettings, session: SessionKey, channel: str, *, override: SendDecision | None = None
) -> SendDecision:
    """Whether a session may send on a channel.

    The session's own choice (`/send on|off`) wins. Otherwise any matching deny, otherwise any matching allow, otherwise
    the default.
    """
    if override is not None:
        return override
    actions = [rule.action for rule in policy.rules if _matches(rule.match, session, channel)]
    if "deny" in actions:
        return "deny"
    return "allow" if actions else policy.default


def own_choice(row: Mapping[str, str]) -> SendDecision | None:
    """What the session itself has chosen (`/send on|off`), by its row."""
    return {"allow": "allow", "deny": "deny"}.get(row.get("sendPolicy", ""))  # type: ignore[return-value]


def _matches(match: SendMatchSettings, session: SessionKey, channel: str) -> bool:
    """All conditions that are given hold."""
    if match.channel and match.channel.strip().lower() != channel.lower():
        return False
    if match.chat_type and match.chat_type not in _chat_types(session):
        return False
    if match.raw_key_prefix and not _begins(session, match.raw_key_prefix):
        return False
    bare = parse_key(session).rest
    return not match.key_prefix or _begins(session, match.key_prefix) or _begins(bare, match.key_prefix)


def _begins(key: str, prefix: str) -> bool:
    return key.lower().startswith(prefix.strip().lower())


def _chat_types(session: SessionKey) -> frozenset[str]:
    """The words by which a rule may mean this chat. A topic is a thread, and also belongs to its group or channel."""
    key = parse_key(session)
    is_thread = bool(key.thread_id or key.topic_id)
    base = {Kind.GROUP: {"group"}, Kind.CHANNEL: {"channel"}}.get(key.kind, {"dm", "direct"})
    return frozenset({*base, "thread"} if is_thread else base)
