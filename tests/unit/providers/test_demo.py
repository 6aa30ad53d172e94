"""What a newcomer can say to `offline/demo`, and what comes back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.domain.untrusted import wrap
from openclaw_workers.providers.base import TextDelta
from openclaw_workers.providers.offline.intents import reply_to
from tests.unit.providers.offline_conversation import MORE_TOOLS, TOOLS, ask, calls_of, entry_of, result, text_of, user


@pytest.mark.parametrize(
    ("said", "tool", "arguments"),
    [
        ("run `ls`", "exec", {"command": "ls"}),
        ("run: ls -la", "exec", {"command": "ls -la"}),
        ("Please run ls", "exec", {"command": "ls"}),
        ("execute the command `echo 'a b' | wc`", "exec", {"command": "echo 'a b' | wc"}),
        ("Could you run this for me: `date`?", "exec", {"command": "date"}),
        ("运行 ls -la", "exec", {"command": "ls -la"}),
        ("read notes.txt", "read", {"path": "notes.txt"}),
        ("show me the file NOTES", "read", {"path": "NOTES"}),
        ("What is in docs/a.md?", "read", {"path": "docs/a.md"}),
        ("读取 notes.txt", "read", {"path": "notes.txt"}),
        ("请读取文件notes.txt。", "read", {"path": "notes.txt"}),
        ("write hello to notes.txt", "write", {"path": "notes.txt", "content": "hello"}),
        ('save "to be or not to be" in a/b.txt.', "write", {"path": "a/b.txt", "content": "to be or not to be"}),
        ("list files", "ls", {"path": "."}),
        ("Please list the files in src/app.", "ls", {"path": "src/app"}),
        ("列出文件", "ls", {"path": "."}),
        ("search for hello world in files", "grep", {"pattern": "hello world", "literal": True}),
        ("search for `TODO` in src", "grep", {"pattern": "TODO", "literal": True, "path": "src"}),
        ("grep panda in the files", "grep", {"pattern": "panda", "literal": True}),
        ("在文件中搜索 熊猫", "grep", {"pattern": "熊猫", "literal": True}),
        ("find *.py", "find", {"pattern": "*.py"}),
        ("find all files named notes.*", "find", {"pattern": "notes.*"}),
        ("replace one with two in a.txt", "edit", {"path": "a.txt", "oldText": "one", "newText": "two"}),
        ("把 a.txt 中的 一 改成 二", "edit", {"path": "a.txt", "oldText": "一", "newText": "二"}),
        ("fetch https://example.com/a?b=c.", "web_fetch", {"url": "https://example.com/a?b=c"}),
        ("search the web for red pandas", "web_search", {"query": "red pandas"}),
        ("把 你好 写入 a.txt", "write", {"path": "a.txt", "content": "你好"}),
        ("写入 hello 到 a.txt", "write", {"path": "a.txt", "content": "hello"}),
    ],
)
def test_a_simple_request_becomes_a_tool_call(said: str, tool: str, arguments: dict[str, Any]) -> None:
    (call,) = calls_of(ask("demo", user(said), tools=[*TOOLS, *MORE_TOOLS]))
    assert (call.name, call.arguments) == (tool, arguments)


@pytest.mark.parametrize(
    "said", ["read me a story", "write a poem to my mother", "run a race with me", "find my keys", "", "为什么"]
)
def test_it_declines_what_it_cannot_do(said: str) -> None:
    events = ask("demo", user(said))
    assert calls_of(events) == []
    assert "offline/demo" in text_of(events)
    assert "Try: run" in text_of(events)


@pytest.mark.parametrize("said", ["hello", "Hi there!", "你好", "who are you?"])
def test_it_greets_and_says_what_it_is(said: str) -> None:
    assert text_of(ask("demo", user(said))).startswith("Hello! I am offline/demo")
    assert "no model key is set" in text_of(ask("demo", user(said)))


def test_it_reports_what_the_tool_returned() -> None:
    asked = user("run `ls`")
    first = ask("demo", asked)
    (call,) = calls_of(first)
    assert text_of(ask("demo", asked, entry_of(first), result(call, "a\nb"))) == "`exec` returned:\n\na\nb"
    reply = text_of(ask("demo", asked, entry_of(first), result(call, "no such file", is_error=True)))
    assert reply == "`exec` failed: no such file"
    reply = text_of(ask("demo", asked, entry_of(first), result(call, "x" * 50_000)))
    assert len(reply) < 2_000
    assert "48,500 more characters" in reply
    quoted = result(call, wrap("a\nb", "tool exec"))
    assert text_of(ask("demo", asked, entry_of(first), quoted)) == "`exec` returned:\n\na\nb"


def test_text_that_joins_the_turn_is_answered_with_the_results() -> None:
    asked = user("run `ls`")
    first = ask("demo", asked)
    events = ask("demo", asked, entry_of(first), result(calls_of(first)[0], "a"), user("read notes.txt"))
    assert text_of(events).startswith("`exec` returned:\n\na")
    assert [call.name for call in calls_of(events)] == ["read"]


def test_collected_messages_are_all_answered() -> None:
    events = ask("demo", user("Queued #1 (from Ann)\nread a.txt", "Queued #2 (from Ann)\nrun `ls`"))
    assert [call.name for call in calls_of(events)] == ["read", "exec"]
    assert len({call.id for call in calls_of(events)}) == 2


def test_it_only_calls_tools_it_has() -> None:
    events = ask("demo", user("run `ls`"), tools=[tool for tool in TOOLS if tool.name == "read"])
    assert calls_of(events) == []
    assert "does not have" in text_of(events)
    listed = text_of(ask("demo", user("what tools do you have?")))
    assert all(f"- {tool.name}: {tool.description}" in listed for tool in TOOLS)


def test_it_counts_one_word_after_the_other() -> None:
    events = ask("demo", user("count to 5"))
    assert [event.text for event in events if isinstance(event, TextDelta)][:5] == ["1 ", "2 ", "3 ", "4 ", "5 "]
    assert text_of(events) == "1 2 3 4 5 – done."


@pytest.mark.parametrize(
    ("said", "words"), [("count to 20 slowly", 22), ("wait 10 seconds", 13), ("慢慢数到 3", 5), ("等待 2 分钟", 123)]
)
def test_slowly_is_a_word_per_second(said: str, words: int) -> None:
    reply = reply_to(said, TOOLS)
    assert reply.word_seconds == 1
    assert len(reply.text.split(" ")) == words


@given(st.text(max_size=200))
def test_any_text_gets_a_reply(text: str) -> None:
    reply = reply_to(text, TOOLS)
    assert reply.text
