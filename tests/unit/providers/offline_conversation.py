"""Short ways to hold a conversation with an offline model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from openclaw_workers.cancel import Cancel
from openclaw_workers.domain.tool_spec import ToolSpec
from openclaw_workers.domain.transcript import (
    AssistantEntry,
    TextBlock,
    ToolCallBlock,
    ToolResultEntry,
    TranscriptEntry,
    UserEntry,
)
from openclaw_workers.errors import ProviderError
from openclaw_workers.providers.base import Answer, ModelRequest, StreamEvent, TextDelta
from openclaw_workers.providers.registry import Providers

TOOLS = [ToolSpec(name, f"The tool {name}.", {}) for name in ("exec", "read", "write")]
MORE_TOOLS = [
    ToolSpec(name, f"The tool {name}.", {}) for name in ("edit", "ls", "grep", "find", "web_fetch", "web_search")
]
TREE_TOOLS = [*TOOLS, ToolSpec("sessions_spawn", "The tool sessions_spawn.", {})]


def user(*texts: str, ids: Sequence[str] = (), provenance: str | None = None) -> UserEntry:
    return UserEntry(content=[TextBlock(text=text) for text in texts], message_ids=list(ids), provenance=provenance)


def task_message(task: str) -> UserEntry:
    """A sub-agent's first message."""
    return user(
        "[Subagent Context] You are running as a sub-agent (depth 1/2). Results {are} sent by themselves.\n\n"
        f"[Subagent Task]\n{task}"
    )


def announce(*children: tuple[str, str, str], task: str = "do it") -> UserEntry:
    """Results of sub-agents as their parent gets them: label, status and text of each."""
    blocks = [
        f"label: {label}\ntask: {task}\nstatus: {status}\nresult:\n<<<BEGIN>>>\n{text}\n<<<END>>>\nduration: 5.1 s"
        for label, status, text in children
    ]
    return user("\n\n".join(["[Sub-agent results]", *blocks]), provenance="subagent")


def program(*steps: dict[str, Any]) -> str:
    return json.dumps({"steps": steps})


def ask(
    model: str,
    *messages: TranscriptEntry,
    tools: list[ToolSpec] = TOOLS,
    failed_calls: int = 0,
    cancel: Cancel | None = None,
) -> list[StreamEvent]:
    request = ModelRequest(model, "", list(messages), tools, failed_calls=failed_calls)
    return list(Providers().get("offline").stream(request, cancel or Cancel()))


def until_answered(ask: Callable[[], Iterator[StreamEvent]]) -> list[StreamEvent]:
    """Repeat a call while its error says that the next one will differ, as the failover does."""
    while True:
        try:
            return list(ask())
        except ProviderError as error:
            if not error.will_differ:
                raise


def answer_of(events: list[StreamEvent]) -> Answer:
    last = events[-1]
    assert isinstance(last, Answer)
    return last


def text_of(events: list[StreamEvent]) -> str:
    """The answer's text, which must be what was streamed."""
    streamed = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert entry_of(events).text == streamed
    return streamed


def calls_of(events: list[StreamEvent]) -> list[ToolCallBlock]:
    return entry_of(events).tool_calls


def entry_of(events: list[StreamEvent]) -> AssistantEntry:
    answer = answer_of(events)
    return AssistantEntry(content=answer.content, stop_reason=answer.stop_reason, usage=answer.usage)


def result(call: ToolCallBlock, text: str, *, is_error: bool = False) -> ToolResultEntry:
    return ToolResultEntry(tool_call_id=call.id, tool_name=call.name, content=[TextBlock(text=text)], is_error=is_error)
