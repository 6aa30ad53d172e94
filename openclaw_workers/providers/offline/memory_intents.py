"""What `offline/demo` saves to memory and looks up there: a table of patterns, each with its reply."""

from __future__ import annotations

import re

from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.providers.offline.event_stream import Call
from openclaw_workers.providers.offline.intent import START, Intent, Reply, patterns, use
from openclaw_workers.providers.offline.memories import SEARCH, WRITE


def _remember(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    fact = match["fact"].strip().rstrip(".!。！")
    return use([Call(WRITE, {"content": f"- {fact}", "path": "MEMORY.md"})], "I save that to memory.", tools)


def _recall(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    query = match["query"].strip().rstrip("?？.。!！")
    return use([Call(SEARCH, {"query": query})], "I look into memory.", tools)


MEMORY_INTENTS = (
    Intent(
        patterns(
            START + r"(?:remember|keep in mind|note)(?:\s+that|\s*[:：])?\s+(?!about\b)(?P<fact>[^?？]+)\Z",
            r"\A\s*请?(?:记住|记下|记得)\s*[:：，,]?\s*(?P<fact>[^?？吗]+)\Z",
        ),
        _remember,
    ),
    Intent(
        patterns(
            r"\b(?:do|can|did) you (?:remember|recall)\s+(?P<query>.+)",
            r"\bwhat do you (?:remember|know|recall)\s+(?:about|of)\s+(?P<query>.+)",
            START + r"(?:recall|search (?:your\s+)?memory for)\s+(?P<query>.+)",
            r"\b(?:what|where|when|who)(?:'s| is| was| are| were)\s+(?P<query>(?:my|our)\b.+)",
            r"(?:你还?记得|回忆一?下|回想)\s*(?P<query>.+)",
            r"(?P<query>我们?的.+?)(?:是什么|是多少|在哪里?|是谁|叫什么)",
        ),
        _recall,
    ),
)
