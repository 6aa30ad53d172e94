"""What `offline/demo` understands: a table of patterns, each with its reply.

To add something, add a row; the first row that matches wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from openclaw_workers.domain.shorten import shorten
from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.providers.offline.fanout import FAN_OUT, FAN_OUT_CHINESE, children, sub_agents
from openclaw_workers.providers.offline.memories import SEARCH, WRITE
from openclaw_workers.providers.offline.streaming import Call

_LONGEST_COUNT = 600
_QUICK_WORD_SECONDS = 0.05
_SLOW_WORD_SECONDS = 1.0

ABOUT = (
    "I am offline/demo, a small built-in stand-in that follows simple requests while no model key is set. "
    "Set a provider's API key to talk to a real model."
)
FAN_OUT_EXAMPLE = "ask three sub-agents to count to 3, 5 and 8 slowly"
CAN_DO = (
    "Try: run `ls` · write hello to notes.txt · read notes.txt · remember that my cat is called Miso · "
    "what is my cat called? · count to 20 slowly · "
    f"{FAN_OUT_EXAMPLE} · what tools do you have?"
)


@dataclass(frozen=True, slots=True)
class Reply:
    text: str
    calls: tuple[Call, ...] = ()
    word_seconds: float = 0


@dataclass(frozen=True, slots=True)
class Intent:
    patterns: tuple[re.Pattern[str], ...]
    reply: Callable[[re.Match[str], list[ToolSpec]], Reply]


def reply_to(text: str, tools: list[ToolSpec]) -> Reply:
    """The reply to one message."""
    if found := _find(text):
        intent, match = found
        return intent.reply(match, tools)
    understood = shorten(text, 80)
    heard = f"I read “{understood}”, and that is more than I can do" if text else "There was no text for me"
    return Reply(f"{heard}. {ABOUT} {CAN_DO}")


def _find(text: str) -> tuple[Intent, re.Match[str]] | None:
    for intent in INTENTS:
        for pattern in intent.patterns:
            if match := pattern.search(text):
                return intent, match
    return None


def _fan_out(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    calls = children(match, lambda task: _find(task) is not None)
    if not calls:
        return Reply(f"Tell me what the sub-agents should do, for example: {FAN_OUT_EXAMPLE}.")
    return _use(calls, f"I hand this to {sub_agents(len(calls))}.", tools)


def _run(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    command = match["command"].strip()
    return _use([Call("exec", {"command": command})], f"I run `{command}`.", tools)


def _read(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    path = _path(match)
    return _use([Call("read", {"path": path})], f"I read {path}.", tools)


def _write(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    path = _path(match)
    content = match["content"].strip().strip("`'\"“”")
    return _use([Call("write", {"path": path, "content": content})], f"I write to {path}.", tools)


def _remember(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    fact = match["fact"].strip().rstrip(".!。！")
    return _use([Call(WRITE, {"content": f"- {fact}", "path": "MEMORY.md"})], "I save that to memory.", tools)


def _recall(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    query = match["query"].strip().rstrip("?？.。!！")
    return _use([Call(SEARCH, {"query": query})], "I look into memory.", tools)


def _path(match: re.Match[str]) -> str:
    return match["path"].rstrip(".,;:")


def _use(calls: list[Call], text: str, tools: list[ToolSpec]) -> Reply:
    """The reply with these calls, all of the same tool, if the agent has it."""
    tool = calls[0].tool
    if all(tool != each.name for each in tools):
        return Reply(f"For this I need the tool `{tool}`, which this agent does not have.")
    return Reply(text, tuple(calls))


def _count(match: re.Match[str], _: list[ToolSpec]) -> Reply:
    last = min(int(match["number"]), _LONGEST_COUNT)
    slowly = re.search(r"slow|慢", match.string, re.IGNORECASE)
    words = " ".join(str(number) for number in range(1, last + 1))
    gap_seconds = _SLOW_WORD_SECONDS if slowly else _QUICK_WORD_SECONDS
    return Reply(f"{words} – done.", word_seconds=gap_seconds)


def _wait(match: re.Match[str], _: list[ToolSpec]) -> Reply:
    unit_seconds = 60 if re.match(r"m|分", match["unit"] or "", re.IGNORECASE) else 1
    seconds = min(int(match["number"]) * unit_seconds, _LONGEST_COUNT)
    words = " ".join(str(second) for second in range(1, seconds + 1))
    return Reply(f"Waiting: {words} – done.", word_seconds=_SLOW_WORD_SECONDS)


def _list_tools(_: re.Match[str], tools: list[ToolSpec]) -> Reply:
    if not tools:
        return Reply("I have no tools here.")
    rows = "\n".join(f"- {tool.name}: {tool.description}" for tool in tools)
    return Reply(f"I have {len(tools)} tools:\n{rows}")


def _greet(_: re.Match[str], __: list[ToolSpec]) -> Reply:
    return Reply(f"Hello! {ABOUT} {CAN_DO}")


def _patterns(*sources: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(source, re.IGNORECASE | re.DOTALL) for source in sources)


_START = r"\A\s*(?:(?:please|now|then|can you|could you)\s+)*(?:请|帮我)*\s*"
# A bare word is not a file name (`read me a story`), unless it has a dot or slash, is quoted, or is called a file.
_FILE = (
    r"(?:the\s+)?(?:(?:file|文件)\s*(?:(?:called|named)\s+)?|(?=[`'\"“]|[^\s]*[./][\w-]))"
    r"[`'\"“]?(?P<path>[^\s`'\"“”?!，。？！]+)[`'\"”]?"
)
_NUMBER = r"(?P<number>\d{1,6})"

INTENTS = (
    # First, because a sub-agent's task may match any of the others.
    Intent(_patterns(_START + FAN_OUT, _START + FAN_OUT_CHINESE), _fan_out),
    Intent(
        _patterns(
            r"\b(?:run|execute|exec)\b[^`\n]{0,40}`(?P<command>[^`]+)`",
            _START + r"(?:run|execute|exec)\b(?!\s+an?\s)(?:\s+the)?(?:\s+command)?\s*[:：]?\s*(?P<command>[^`]+)\Z",
            r"(?:运行|执行)(?:命令)?\s*[:：]?\s*`?(?P<command>[^`]+)",
        ),
        _run,
    ),
    Intent(
        _patterns(
            _START + r"(?:write|save|put)\s+(?P<content>.+)\s+(?:to|into|in|as)\s+" + _FILE + r"\s*[.!]?\s*\Z",
            r"(?:把|将)\s*(?P<content>.+?)\s*(?:写入|写到|保存到)\s*" + _FILE,
            r"(?:写入|保存)\s*(?P<content>.+?)\s*到\s*" + _FILE,
        ),
        _write,
    ),
    Intent(
        _patterns(
            _START + r"(?:read|show(?:\s+me)?|open|print|display|cat)\s+" + _FILE,
            r"\bwhat(?:'s| is)\s+in\s+" + _FILE,
            r"(?:读取|查看|打开|显示|读)\s*" + _FILE,
        ),
        _read,
    ),
    Intent(_patterns(r"\bcount\s+(?:\w+\s+){0,2}?to\s+" + _NUMBER, r"数到\s*" + _NUMBER), _count),
    Intent(
        _patterns(
            r"\b(?:wait|sleep|pause)\s+(?:for\s+)?" + _NUMBER + r"\s*(?P<unit>s|m)?",
            r"等待?\s*" + _NUMBER + r"\s*(?P<unit>秒|分)?",
        ),
        _wait,
    ),
    Intent(
        _patterns(
            _START + r"(?:remember|keep in mind|note)(?:\s+that|\s*[:：])?\s+(?!about\b)(?P<fact>[^?？]+)\Z",
            r"\A\s*请?(?:记住|记下|记得)\s*[:：，,]?\s*(?P<fact>[^?？吗]+)\Z",
        ),
        _remember,
    ),
    Intent(
        _patterns(
            r"\b(?:do|can|did) you (?:remember|recall)\s+(?P<query>.+)",
            r"\bwhat do you (?:remember|know|recall)\s+(?:about|of)\s+(?P<query>.+)",
            _START + r"(?:recall|search (?:your\s+)?memory for)\s+(?P<query>.+)",
            r"\b(?:what|where|when|who)(?:'s| is| was| are| were)\s+(?P<query>(?:my|our)\b.+)",
            r"(?:你还?记得|回忆一?下|回想)\s*(?P<query>.+)",
            r"(?P<query>我们?的.+?)(?:是什么|是多少|在哪里?|是谁|叫什么)",
        ),
        _recall,
    ),
    Intent(_patterns(r"\b(?:what|which|list)\b.*\btools?\b", r"(?:什么|哪些).*工具|工具.*(?:什么|哪些)"), _list_tools),
    Intent(
        _patterns(
            r"\A\s*(?:hi|hello|hey|good (?:morning|afternoon|evening))\b",
            r"\b(?:who|what) are you\b|\A\s*help\b",
            r"你好|您好|你是谁|帮助",
        ),
        _greet,
    ),
)
