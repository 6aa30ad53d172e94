"""The values when nothing is configured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.config.loader import load
from openclaw_workers.config.schema_tree import dotted, leaves
from openclaw_workers.config.settings import Settings

DEFAULTS: dict[str, Any] = {
    "messages.queue.mode": "collect",
    "messages.queue.debounceMs": 500,
    "messages.queue.cap": 20,
    "messages.queue.drop": "summarize",
    "session.scope": "per-sender",
    "session.mainKey": "main",
    "session.dmScope": "main",
    "session.reset.mode": "daily",
    "session.reset.atHour": 4,
    "session.reset.idleMinutes": None,
    "session.resetTriggers": ["/new", "/reset"],
    "session.sendPolicy.default": "allow",
    "session.agentToAgent.maxPingPongTurns": 5,
    "agents.defaults.timeoutSeconds": 600,
    "agents.defaults.thinkingDefault": "off",
    "agents.defaults.subagents.archiveAfterMinutes": 60,
    "agents.defaults.subagents.maxSpawnDepth": 2,
    "agents.defaults.subagents.maxChildrenPerAgent": 5,
    "agents.defaults.subagents.maxTreeRuns": 50,
    "agents.defaults.subagents.maxConcurrent": None,
    "agents.defaults.compaction.mode": "safeguard",
    "agents.defaults.compaction.reserveTokens": 4096,
    "agents.defaults.compaction.keepRecentTokens": 100_000,
    "agents.defaults.compaction.maxHistoryShare": 0.5,
    "agents.defaults.compaction.reserveTokensFloor": 2048,
    "agents.defaults.compaction.identifierPolicy": "strict",
    "agents.defaults.compaction.memoryFlush.softThresholdTokens": 10_000,
    "agents.defaults.compaction.memoryFlush.forceFlushTranscriptBytes": "2mb",
    "agents.defaults.contextPruning.ttl": "1h",
    "agents.defaults.contextPruning.keepLastAssistants": 3,
    "agents.defaults.contextPruning.softTrimRatio": 0.7,
    "agents.defaults.contextPruning.hardClearRatio": 0.85,
    "agents.defaults.contextPruning.minPrunableToolChars": 1000,
    "agents.defaults.contextPruning.softTrim.maxChars": 5000,
    "agents.defaults.contextPruning.softTrim.headChars": 2000,
    "agents.defaults.contextPruning.softTrim.tailChars": 2000,
    "agents.defaults.heartbeat": None,
    "agents.defaults.memorySearch.chunking.tokens": 400,
    "agents.defaults.memorySearch.chunking.overlap": 80,
    "agents.defaults.memorySearch.sources": ["memory", "sessions"],
    "agents.defaults.sandbox.mode": "off",
    "agents.defaults.sandbox.sessionToolsVisibility": "spawned",
    "tools.sessions.visibility": "agent",
    "tools.agentToAgent.enabled": False,
    "lanes.main.concurrency": 4,
    "lanes.subagent.concurrency": 8,
    "lanes.service.concurrency": 4,
    "lanes.main.maxConcurrent": None,
    "lanes.subagent.maxConcurrent": None,
    "engine.leaseSeconds": 8,
    "engine.maxAttempts": 3,
    "engine.graceSeconds": 30,
    "engine.sweepSeconds": 0.2,
    "engine.acceptTimeoutSeconds": 2.0,
    "engine.namespace": "ocw",
    "engine.taskEvents": True,
    "engine.maxSteps": 200,
    "engine.toolTimeoutSeconds": 300,
    "redis.url": None,
    "qdrant.url": None,
}


@pytest.mark.parametrize("path", DEFAULTS)
def test_a_default_has_its_documented_value(path: str) -> None:
    values = {dotted(leaf.loc): leaf.value for leaf in leaves(Settings())}

    assert values[path] == DEFAULTS[path]


def test_without_a_file_everything_is_default(tmp_path: Path) -> None:
    loaded = load(env={"HOME": str(tmp_path)}, cwd=tmp_path)

    assert loaded.settings == Settings()
    assert loaded.source is None
    assert set(loaded.origins.values()) == {"default"}
    assert loaded.state_dir == tmp_path / ".openclaw-workers"


@pytest.mark.parametrize(
    ("chat_type", "channel", "minutes"),
    [("dm", "discord", 1), ("dm", "cli", 2), ("thread", "cli", 3)],
)
def test_a_reset_policy_is_chosen_by_channel_then_by_type_then_the_general_one(
    chat_type: Any, channel: str, minutes: int
) -> None:
    settings = Settings.model_validate(
        {
            "session": {
                "resetByChannel": {"discord": {"mode": "idle", "idleMinutes": 1}},
                "resetByType": {"dm": {"mode": "idle", "idleMinutes": 2}},
                "reset": {"mode": "idle", "idleMinutes": 3},
            }
        }
    )

    assert settings.session.reset_for(chat_type, channel).idle_minutes == minutes
