"""Every configuration block printed in the articles, loaded as printed.

The fixtures are whole blocks; nothing had to be wrapped. The `.json` ones hold comments, as they do in print.
Each expectation names the value's home in the settings tree.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.config.loader import load
from openclaw_workers.config.schema_tree import dotted, leaves

FIXTURES = Path(__file__).parents[2] / "fixtures" / "config"
STATE = Path("/state")
"""Relative paths count from the state directory."""

LANDS: dict[str, dict[str, Any]] = {
    "002-6.1-profiles.yaml": {
        "agents.defaultAgent": "main",
        "agents.profiles.main.sandbox.mode": "off",
        "agents.profiles.main.tools.allow": [
            *("read_file", "write_file", "shell", "shell_start", "shell_status", "shell_kill", "http_get"),
            *("memory_search", "memory_write", "sessions_spawn"),
        ],
        "agents.profiles.main.tools.deny": [],
        "agents.profiles.main.workspace.path": str(STATE / "workspace"),
        "agents.profiles.main.authDir": str(STATE / ".miniclaw/auth/main"),
        "agents.profiles.public.sandbox.mode": "all",
        "agents.profiles.public.tools.allow": ["read_file", "http_get", "memory_search"],
        "agents.profiles.public.tools.deny": ["shell", "write_file", "sessions_spawn"],
        "agents.profiles.public.workspace.path": str(STATE / "workspace/public"),
        "agents.profiles.public.authDir": str(STATE / ".miniclaw/auth/public"),
    },
    "003-3.3-reset.json5": {
        "session.reset.mode": "daily",
        "session.reset.atHour": 4,
        "session.reset.idleMinutes": 120,
        "session.resetByType.thread.mode": "daily",
        "session.resetByType.thread.atHour": 4,
        "session.resetByType.dm.mode": "idle",
        "session.resetByType.dm.idleMinutes": 240,
        "session.resetByType.group.mode": "idle",
        "session.resetByType.group.idleMinutes": 120,
        "session.resetByChannel.discord.mode": "idle",
        "session.resetByChannel.discord.idleMinutes": 10080,
    },
    "003-4.3-send-policy.json5": {
        "session.sendPolicy.rules[0].action": "deny",
        "session.sendPolicy.rules[0].match.channel": "discord",
        "session.sendPolicy.rules[0].match.chatType": "group",
        "session.sendPolicy.rules[1].action": "deny",
        "session.sendPolicy.rules[1].match.keyPrefix": "cron:",
        "session.sendPolicy.default": "allow",
    },
    "003-8.1-sandbox.json5": {
        "agents.defaults.sandbox.mode": "non-main",
        "agents.defaults.sandbox.scope": "session",
        "agents.defaults.sandbox.workspaceAccess": "none",
        "tools.sandbox.tools.allow": ["group:messaging", "group:sessions"],
        "tools.sandbox.tools.deny": ["group:runtime", "group:fs", "group:ui", "nodes", "cron", "gateway"],
    },
    "003-8.3-agent-to-agent.json5": {
        "tools.agentToAgent.enabled": True,
        "tools.agentToAgent.allow[0].from": "main",
        "tools.agentToAgent.allow[0].to": "assistant",
        "tools.agentToAgent.allow[1].from": "assistant",
        "tools.agentToAgent.allow[1].to": "main",
    },
    "004-1.1-agents.json": {
        "agents.defaults.model.primary": "anthropic/claude-opus-4-6",
        "agents.defaults.model.fallbacks": ["anthropic/claude-sonnet-4-5"],
        "agents.defaults.workspace.path": "/home/somebody/workspace",
        "agents.defaults.thinkingDefault": "low",
        "agents.defaults.contextTokens": 200000,
        "agents.defaults.compaction.mode": "safeguard",
        "agents.list[0].id": "default",
        "agents.list[0].default": True,
        "agents.list[0].name": "Main Assistant",
        "agents.list[1].id": "code-reviewer",
        "agents.list[1].name": "Code Review Expert",
        "agents.list[1].model.primary": "anthropic/claude-sonnet-4-5",
        "agents.list[1].workspace.path": "/home/somebody/projects",
        "agents.list[1].skills": ["git", "code-review"],
        "agents.list[1].tools.profile": "coding",
        "agents.list[2].id": "research",
        "agents.list[2].name": "Research Assistant",
        "agents.list[2].model.primary": "openai/gpt-4o",
        "agents.list[2].skills": ["web-search", "arxiv"],
        "agents.list[2].tools.profile": "full",
    },
    "004-1.4-inheritance.json": {
        "agents.defaults.model.primary": "anthropic/claude-opus-4-6",
        "agents.defaults.thinkingDefault": "low",
        "agents.defaults.tools.profile": "full",
        "agents.list[0].id": "code-reviewer",
        "agents.list[0].model.primary": "anthropic/claude-sonnet-4-5",
        "agents.list[0].tools.profile": "coding",
    },
    "004-3.3-compaction-default.json": {
        "agents.defaults.compaction.mode": "default",
        "agents.defaults.compaction.reserveTokens": 4096,
        "agents.defaults.compaction.keepRecentTokens": 100000,
    },
    "004-3.3-compaction-safeguard.json": {
        "agents.defaults.compaction.mode": "safeguard",
        "agents.defaults.compaction.maxHistoryShare": 0.5,
        "agents.defaults.compaction.reserveTokensFloor": 2048,
    },
    "004-3.6-identifier-policy.json": {
        "agents.defaults.compaction.identifierPolicy": "strict",
        "agents.defaults.compaction.identifierInstructions": "...",
    },
    "004-4.2-fallbacks.json": {
        "agents.defaults.model.primary": "anthropic/claude-opus-4-6",
        "agents.defaults.model.fallbacks": [
            "anthropic/claude-sonnet-4-5",
            "openai/gpt-4o",
            "anthropic/claude-opus-3-5",
        ],
    },
    "004-4.5-auth-profiles.json": {
        "models.providers.anthropic.authProfiles[0].id": "main",
        "models.providers.anthropic.authProfiles[0].apiKey": "***",
        "models.providers.anthropic.authProfiles[1].id": "backup",
        "models.providers.anthropic.authProfiles[1].apiKey": "***",
        "models.providers.anthropic.authProfiles[2].id": "fallback",
        "models.providers.anthropic.authProfiles[2].apiKey": "***",
        "models.providers.anthropic.authOrder": ["main", "backup", "fallback"],
    },
    "004-5.2-tools-profile.json": {"tools.profile": "coding", "tools.alsoAllow": ["web_search"]},
    "004-5.2-tools-global.json": {"tools.allow": ["*"], "tools.deny": ["gateway"]},
    "004-5.2-tools-agent.json": {
        "agents.list[0].id": "code-reviewer",
        "agents.list[0].tools.profile": "coding",
        "agents.list[0].tools.deny": ["web_search"],
    },
    "004-5.2-tools-group.json": {
        "channels.telegram.groups.-1001234567890.tools.allow": ["read", "write", "grep"],
    },
    "004-5.2-tools-sandbox.json": {"tools.sandbox.tools.deny": ["gateway", "exec"]},
    "004-5.3-tools-example.json": {
        "tools.profile": "coding",
        "tools.alsoAllow": ["memory_search"],
        "tools.deny": ["apply_patch"],
        "agents.list[0].id": "safe-agent",
        "agents.list[0].tools.deny": ["exec"],
    },
    "004-7.1-subagents.json": {
        "agents.defaults.subagents.maxSpawnDepth": 2,
        "agents.defaults.subagents.maxChildrenPerAgent": 5,
        "agents.defaults.subagents.maxConcurrent": 1,
        "agents.defaults.subagents.archiveAfterMinutes": 60,
        "agents.defaults.subagents.model.primary": "anthropic/claude-sonnet-4-5",
        "agents.defaults.subagents.thinking": "off",
    },
    "004-7.2-heartbeat.json": {
        "agents.defaults.heartbeat.every": "30m",
        "agents.defaults.heartbeat.activeHours.start": "09:00",
        "agents.defaults.heartbeat.activeHours.end": "18:00",
        "agents.defaults.heartbeat.activeHours.timezone": "user",
        "agents.defaults.heartbeat.model": "anthropic/claude-haiku-3-5",
        "agents.defaults.heartbeat.session": "main",
        "agents.defaults.heartbeat.target": "telegram",
        "agents.defaults.heartbeat.to": "+1234567890",
        "agents.defaults.heartbeat.prompt": (
            "Check if there are any urgent tasks. If nothing needs attention, reply HEARTBEAT_OK."
        ),
        "agents.defaults.heartbeat.ackMaxChars": 30,
        "agents.defaults.heartbeat.lightContext": True,
    },
    "004-7.3-context-pruning.json": {
        "agents.defaults.contextPruning.mode": "cache-ttl",
        "agents.defaults.contextPruning.ttl": "1h",
        "agents.defaults.contextPruning.keepLastAssistants": 3,
        "agents.defaults.contextPruning.softTrimRatio": 0.7,
        "agents.defaults.contextPruning.hardClearRatio": 0.85,
        "agents.defaults.contextPruning.minPrunableToolChars": 1000,
        "agents.defaults.contextPruning.tools.allow": ["read", "grep"],
        "agents.defaults.contextPruning.tools.deny": ["memory_search"],
        "agents.defaults.contextPruning.softTrim.maxChars": 5000,
        "agents.defaults.contextPruning.softTrim.headChars": 2000,
        "agents.defaults.contextPruning.softTrim.tailChars": 2000,
        "agents.defaults.contextPruning.hardClear.enabled": True,
        "agents.defaults.contextPruning.hardClear.placeholder": "[Tool result omitted due to context budget]",
    },
    "004-7.4-memory-flush.json": {
        "agents.defaults.compaction.memoryFlush.enabled": True,
        "agents.defaults.compaction.memoryFlush.softThresholdTokens": 10000,
        "agents.defaults.compaction.memoryFlush.forceFlushTranscriptBytes": "2mb",
        "agents.defaults.compaction.memoryFlush.prompt": (
            "Before we compress the conversation, save any important decisions, TODOs, or context to MEMORY.md."
        ),
        "agents.defaults.compaction.memoryFlush.systemPrompt": (
            "Focus on: project decisions, open questions, key identifiers, and action items."
        ),
    },
}


def test_every_block_has_an_expectation() -> None:
    assert sorted(path.name for path in FIXTURES.iterdir()) == sorted(LANDS)


@pytest.mark.parametrize("name", LANDS)
def test_a_block_of_the_articles_sets_exactly_the_expected_values(name: str) -> None:
    loaded = load(FIXTURES / name, env={"HOME": "/home/somebody"}, state_dir=STATE)

    from_file = {dotted(leaf.loc): leaf.value for leaf in leaves(loaded.settings) if leaf.is_given}

    assert from_file == LANDS[name]


def test_the_keys_of_the_articles_auth_profiles_are_read_but_secret(tmp_path: Path) -> None:
    loaded = load(FIXTURES / "004-4.5-auth-profiles.json", env={}, state_dir=tmp_path)

    profiles = loaded.settings.models.providers["anthropic"].auth_profiles

    assert [profile.api_key.get_secret_value() for profile in profiles] == [
        "sk-ant-xxx1",
        "sk-ant-xxx2",
        "sk-ant-xxx3",
    ]
    assert "sk-ant" not in repr(loaded)
