"""A session row survives a round trip through Redis, and a damaged one names the wrong field."""

from __future__ import annotations

import json
import types
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

from openclaw_workers.domain.messages import Authority, DropPolicy, QueueMode
from openclaw_workers.domain.session_key import ChatType
from openclaw_workers.domain.session_row import (
    DeliveryContext,
    SessionEntry,
    SessionKind,
    SessionOrigin,
    SkillRef,
    SkillsSnapshot,
    from_hash,
)
from openclaw_workers.errors import CorruptRecord

ROW = {
    "sessionId": "s-1",
    "sessionKey": "agent:main:main",
    "agentId": "main",
    "createdAt": "1",
    "updatedAt": "3",
    "sessionStartedAt": "2",
}

# The fields the articles list, by the names they use; ttsAuto is left out, for there is no voice.
ARTICLES = {
    "sessionId",
    "updatedAt",
    "lastHeartbeatText",
    "lastHeartbeatSentAt",
    "spawnedBy",
    "thinkingLevel",
    "verboseLevel",
    "reasoningLevel",
    "elevatedLevel",
    "providerOverride",
    "modelOverride",
    "authProfileOverride",
    "sendPolicy",
    "groupActivation",
    "inputTokens",
    "outputTokens",
    "totalTokens",
    "contextTokens",
    "compactionCount",
    "label",
    "displayName",
    "channel",
    "subject",
    "groupChannel",
    "origin",
    "deliveryContext",
    "lastChannel",
    "lastTo",
    "lastAccountId",
    "lastThreadId",
    "skillsSnapshot",
    "systemPromptReport",
    "spawnDepth",
    "spawnedWorkspaceDir",
    "forkedFromParent",
    "subagentRole",
    "subagentControlScope",
    "agentId",
    "sessionKind",
    "sessionKey",
    "parentSessionId",
    "createdByRunId",
}

# Redis stores UTF-8, which cannot write half a surrogate pair.
text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
counts = st.integers(0, 2**53)
reports = st.dictionaries(
    text, st.recursive(st.none() | st.booleans() | counts | text, st.lists, max_leaves=4), max_size=3
)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "spawned_by": st.just("agent:main:main"),
    "session_kind": st.sampled_from(SessionKind),
    "chat_type": st.sampled_from(ChatType),
    "forked_from_parent": st.booleans(),
    "spawned_with_files": st.booleans(),
    "transient": st.booleans(),
    "spawn_authority": st.sampled_from(Authority),
    "subagent_role": st.sampled_from(["orchestrator", "leaf"]),
    "subagent_control_scope": st.sampled_from(["children", "none"]),
    "send_policy": st.sampled_from(["allow", "deny"]),
    "group_activation": st.sampled_from(["mention", "always"]),
    "queue_mode": st.sampled_from(QueueMode),
    "queue_drop": st.sampled_from(DropPolicy),
    "response_usage": st.sampled_from(["on", "off", "tokens", "full"]),
    "queue_cap": st.integers(1, 1000),
    "context_tokens_override": st.integers(1, 10**7),
    "max_spawn_depth": st.integers(1, 100),
    "max_tree_runs": st.integers(1, 10**6),
    "origin": st.builds(SessionOrigin, label=st.none() | text, sender=st.none() | text, thread_id=st.none() | text),
    "delivery_context": st.builds(DeliveryContext, channel=text, to=text, account_id=text, thread_id=text),
    "skills_snapshot": st.builds(
        SkillsSnapshot, prompt=text, skills=st.lists(st.builds(SkillRef, name=text), max_size=2)
    ),
    "system_prompt_report": reports,
}
REQUIRED = {"session_id", "session_key", "agent_id", "created_at", "updated_at", "session_started_at"}


def _is_a_number(name: str) -> bool:
    return "int" in str(SessionEntry.model_fields[name].annotation)


rows = st.fixed_dictionaries(
    {
        "session_id": text,
        "session_key": text.map("agent:main:".__add__),
        "agent_id": st.just("main"),
        "created_at": counts,
        "updated_at": counts,
        "session_started_at": counts,
    },
    optional={
        name: VALUES.get(name, counts if _is_a_number(name) else text)
        for name in SessionEntry.model_fields
        if name not in REQUIRED
    },
).map(SessionEntry.model_validate)


@settings(max_examples=60, deadline=None)
@given(rows)
def test_a_row_is_read_back_as_it_was_written(entry: SessionEntry) -> None:
    stored = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in entry.model_dump(mode="json", by_alias=True, exclude_none=True).items()
    }

    assert from_hash(stored) == entry


def test_every_field_of_the_articles_has_a_place() -> None:
    assert not ARTICLES - {to_camel(name) for name in SessionEntry.model_fields}


def test_scalars_are_plain_strings_and_compound_values_are_json() -> None:
    words = {"forkedFromParent": "true", "label": "true", "queueMode": "steer-backlog"}
    entry = from_hash({**ROW, **words, "deliveryContext": '{"channel":"telegram","to":"7"}'})

    assert (entry.forked_from_parent, entry.label, entry.queue_mode) == (True, "true", QueueMode.STEER_BACKLOG)
    assert entry.delivery_context == DeliveryContext(channel="telegram", to="7")
    assert entry.model_override is None


def test_a_row_needs_only_identity_and_times() -> None:
    entry = from_hash({**ROW, "turns": "2", "inputTokens": "12"})

    assert (entry.turns, entry.input_tokens, entry.output_tokens) == (2, 12, 0)
    assert entry.last_interaction_at is None


def test_a_field_of_a_newer_version_is_ignored() -> None:
    assert from_hash({**ROW, "somethingNew": "1"}) == from_hash(ROW)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("updatedAt", "yesterday"),
        ("updatedAt", "-1"),
        ("turns", ""),
        ("forkedFromParent", "perhaps"),
        ("queueMode", "sometimes"),
        ("queueCap", "0"),
        ("origin", "{"),
        ("origin", "[]"),
        ("origin", "[" * 100_000),
        ("deliveryContext", "{}"),
        ("systemPromptReport", "null!"),
        ("agentId", "other"),
    ],
)
def test_a_damaged_field_is_named(field: str, value: str) -> None:
    with pytest.raises(CorruptRecord) as caught:
        from_hash({**ROW, field: value})

    assert field in caught.value.why
    assert caught.value.where == "session agent:main:main"
    assert caught.value.message == f"{caught.value.where} cannot be read: {caught.value.why}"


@pytest.mark.parametrize("field", sorted(ROW))
def test_a_missing_field_is_named(field: str) -> None:
    with pytest.raises(CorruptRecord) as caught:
        from_hash({name: value for name, value in ROW.items() if name != field})

    assert field in caught.value.why


def test_several_damaged_fields_are_all_named() -> None:
    with pytest.raises(CorruptRecord, match=r"(?s)createdAt.*turns|turns.*createdAt"):
        from_hash({**ROW, "createdAt": "x", "turns": "y"})


def test_a_compound_field_that_is_added_is_also_read_as_json() -> None:
    compound = {
        to_camel(name)
        for name, field in SessionEntry.model_fields.items()
        for kind in get_args(field.annotation) or (field.annotation,)
        if isinstance(kind, types.GenericAlias) or (isinstance(kind, type) and issubclass(kind, BaseModel))
    }

    for name in compound:
        with pytest.raises(CorruptRecord, match=f"{name} is not JSON"):
            from_hash({**ROW, name: "{"})
