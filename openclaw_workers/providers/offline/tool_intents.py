"""Requests that `offline/demo` carries out with one tool call: a table of patterns, each with its reply."""

from __future__ import annotations

import re

from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.providers.offline.event_stream import Call
from openclaw_workers.providers.offline.intent import START, Intent, Reply, patterns, use


def _run(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    command = match["command"].strip()
    return use([Call("exec", {"command": command})], f"I run `{command}`.", tools)


def _read(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    path = _path(match)
    return use([Call("read", {"path": path})], f"I read {path}.", tools)


def _write(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    path = _path(match)
    content = match["content"].strip().strip("`'\"“”")
    return use([Call("write", {"path": path, "content": content})], f"I write to {path}.", tools)


def _edit(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    path = _path(match)
    old, new = (match[name].strip().strip("`'\"“”") for name in ("old", "new"))
    return use([Call("edit", {"path": path, "oldText": old, "newText": new})], f"I change {path}.", tools)


def _list(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    path = _path(match) if match["path"] else "."
    shown = "the files" if path == "." else path
    return use([Call("ls", {"path": path})], f"I list {shown}.", tools)


def _search(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    words = match["words"].strip().strip("`'\"“”")
    where = {"path": _path(match)} if match["path"] else {}
    return use([Call("grep", {"pattern": words, "literal": True, **where})], f"I search for “{words}”.", tools)


def _find_files(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    pattern = match["glob"].rstrip("?!")
    return use([Call("find", {"pattern": pattern})], f"I look for {pattern}.", tools)


def _fetch(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    url = match["url"].rstrip(".,;:!?")
    return use([Call("web_fetch", {"url": url})], f"I fetch {url}.", tools)


def _search_web(match: re.Match[str], tools: list[ToolSpec]) -> Reply:
    query = match["words"].strip().rstrip("?!.")
    return use([Call("web_search", {"query": query})], f"I search the web for “{query}”.", tools)


def _path(match: re.Match[str]) -> str:
    return match["path"].rstrip(".,;:")


# A bare word is not a file name (`read me a story`), unless it has a dot or slash, is quoted, or is called a file.
_FILE = (
    r"(?:the\s+)?(?:(?:file|文件)\s*(?:(?:called|named)\s+)?|(?=[`'\"“]|[^\s]*[./][\w-]))"
    r"[`'\"“]?(?P<path>[^\s`'\"“”?!，。？！]+)[`'\"”]?"
)

_FILES = r"(?:all\s+|the\s+|my\s+)*files\b"
_FOLDER = r"(?:the\s+)?(?:folder\s+|directory\s+)?(?P<path>[^\s?!]+)"
_END = r"\s*[.!?]?\s*\Z"

TOOL_INTENTS = (
    Intent(
        patterns(
            r"\b(?:run|execute|exec)\b[^`\n]{0,40}`(?P<command>[^`]+)`",
            START + r"(?:run|execute|exec)\b(?!\s+an?\s)(?:\s+the)?(?:\s+command)?\s*[:：]?\s*(?P<command>[^`]+)\Z",
            r"(?:运行|执行)(?:命令)?\s*[:：]?\s*`?(?P<command>[^`]+)",
        ),
        _run,
    ),
    Intent(
        patterns(
            START + r"(?:fetch|visit|open|read|show me)\s+(?P<url>https?://\S+)",
            r"(?:打开|访问|读取)\s*(?P<url>https?://[^\s，。]+)",
        ),
        _fetch,
    ),
    Intent(
        patterns(START + r"search\s+the\s+web\s+for\s+(?P<words>.+)\Z", r"(?:上网搜索|搜索网页)\s*(?P<words>.+)\Z"),
        _search_web,
    ),
    Intent(
        patterns(
            START
            + r"(?:search|grep|look)\s+(?:for\s+)?(?P<words>.{1,500}?)\s+in\s+"
            + rf"(?:{_FILES}|{_FOLDER})"
            + _END,
            START + r"在(?:文件|(?P<path>[^\s，。]{1,200}?))\s*(?:中|里)?\s*(?:搜索|查找)\s*(?P<words>.{1,500})\Z",
        ),
        _search,
    ),
    Intent(
        patterns(
            START + rf"(?:list|show(?:\s+me)?|what are)\s+{_FILES}(?:\s+in\s+{_FOLDER})?" + _END,
            START + r"列出(?:(?P<path>[^\s，。]{1,200}?)\s*(?:中|里)?的?)?(?:所有)?文件",
        ),
        _list,
    ),
    Intent(
        patterns(
            START + r"find\s+(?:all\s+|the\s+|files?\s+)*(?:called\s+|named\s+|like\s+)?(?P<glob>\S*[*.]\S*)\s*\Z",
            START + r"(?:查找|寻找)文件\s*(?P<glob>[^\s，。]+)",
        ),
        _find_files,
    ),
    Intent(
        patterns(
            START + r"replace\s+(?P<old>.{1,500}?)\s+(?:with|by)\s+(?P<new>.{1,500})\s+in\s+" + _FILE + _END,
            START
            + r"(?:把|将)\s*"
            + _FILE
            + r"\s*(?:中|里)的\s*(?P<old>.{1,500}?)\s*(?:改成|替换为)\s*(?P<new>.{1,500})\Z",
        ),
        _edit,
    ),
    Intent(
        patterns(
            START + r"(?:write|save|put)\s+(?P<content>.+)\s+(?:to|into|in|as)\s+" + _FILE + r"\s*[.!]?\s*\Z",
            r"(?:把|将)\s*(?P<content>.+?)\s*(?:写入|写到|保存到)\s*" + _FILE,
            r"(?:写入|保存)\s*(?P<content>.+?)\s*到\s*" + _FILE,
        ),
        _write,
    ),
    Intent(
        patterns(
            START + r"(?:read|show(?:\s+me)?|open|print|display|cat)\s+" + _FILE,
            r"\bwhat(?:'s| is)\s+in\s+" + _FILE,
            r"(?:读取|查看|打开|显示|读)\s*" + _FILE,
        ),
        _read,
    ),
)
