"""Checks of who may write to which agent, across several settings. They run on the raw tree, like `cross_checks`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from openclaw_workers.config.cross_checks import mapping_at
from openclaw_workers.config.normalise import Normaliser
from openclaw_workers.config.schema_tree import Loc
from openclaw_workers.domain.session_key import DEFAULT_AGENT


def check_routed_agents(tree: dict[str, Any], normaliser: Normaliser) -> Iterator[str]:
    """A binding, group or topic must name an agent that exists: another one must not answer in its place."""
    known = _agent_ids(tree)
    for loc, agent in _routed(tree):
        if isinstance(agent, str) and agent not in known:
            yield f"{normaliser.where(loc)}: expected one of the agents {', '.join(known)}, found {agent!r}"


def check_open_channels(tree: dict[str, Any], normaliser: Normaliser) -> Iterator[str]:
    """If anyone may write, direct chats must not share one session: a stranger would read the owner's conversation."""
    session = mapping_at(tree, "session")
    # The defaults of the schema, because the tree has only what somebody wrote.
    if session.get("scope", "per-sender") != "global" and session.get("dmScope", "main") != "main":
        return
    for channel in mapping_at(tree, "channels"):
        for loc, account in _accounts(tree, channel):
            allowed = account.get("allowFrom")
            everybody = [key for key, is_open in (("dmPolicy", account.get("dmPolicy") == "open"),) if is_open]
            if isinstance(allowed, list) and "*" in allowed:
                everybody.append("allowFrom")
            for key in everybody:
                yield (
                    f"{normaliser.where((*loc, key))}: lets anyone write, and all direct chats share one session; "
                    "set session.dmScope to per-channel-peer (and scope to per-sender)"
                )


def _agent_ids(tree: dict[str, Any]) -> list[str]:
    agents = mapping_at(tree, "agents")
    listed, profiles = agents.get("list"), agents.get("profiles")
    ids = [entry.get("id") for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    ids += list(profiles) if isinstance(profiles, dict) else []
    return [each for each in ids if isinstance(each, str)] or [DEFAULT_AGENT]


def _routed(tree: dict[str, Any]) -> Iterator[tuple[Loc, Any]]:
    bindings = tree.get("bindings")
    for index, binding in enumerate(bindings if isinstance(bindings, list) else []):
        if isinstance(binding, dict):
            yield ("bindings", index, "agentId"), binding.get("agentId")
    for channel in mapping_at(tree, "channels"):
        for loc, account in _accounts(tree, channel):
            for name, group in _sections(account, "groups"):
                yield (*loc, "groups", name, "agentId"), group.get("agentId")
                for topic_id, topic in _sections(group, "topics"):
                    yield (*loc, "groups", name, "topics", topic_id, "agentId"), topic.get("agentId")


def _accounts(tree: dict[str, Any], channel: str) -> Iterator[tuple[Loc, dict[str, Any]]]:
    """The channel itself, and each of its accounts."""
    settings = mapping_at(tree, "channels", channel)
    yield ("channels", channel), settings
    for name, account in _sections(settings, "accounts"):
        yield ("channels", channel, "accounts", name), account


def _sections(holder: dict[str, Any], key: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, section in mapping_at(holder, key).items():
        if isinstance(section, dict):
            yield name, section
