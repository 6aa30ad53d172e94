"""The arguments of the session tools, and which sessions have them."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.domain.tree import Role
from openclaw_workers.errors import ToolError, ToolInputInvalid
from openclaw_workers.tools.sessions.send import SessionsSend, Subagents
from tests.component.tools.conftest import Call
from tests.support.tool_policy import tools_at

CONTROL = {
    "sessions_spawn",
    "sessions_send",
    "sessions_yield",
    "sessions_list",
    "sessions_history",
    "sessions_search",
    "subagents",
}


@pytest.mark.parametrize(
    ("tool", "arguments", "wrong"),
    [
        ("sessions_list", {"limit": 0}, "limit"),
        ("sessions_list", {"kinds": ["dream"]}, "kinds"),
        ("sessions_list", {"messageLimit": 21}, "messageLimit"),
        ("sessions_history", {}, "sessionKey"),
        ("sessions_history", {"sessionKey": "main", "limit": 501}, "limit"),
        ("sessions_send", {"message": "hi"}, "expected sessionKey, label or agentId"),
        ("sessions_send", {"sessionKey": "a", "label": "b", "message": "hi"}, "expected sessionKey alone"),
        ("sessions_send", {"sessionKey": "a"}, "message"),
        ("sessions_send", {"sessionKey": "a", "message": " \n"}, "message: expected words"),
        ("sessions_spawn", {"task": ""}, "task"),
        ("sessions_spawn", {"task": " \n"}, "task: expected words"),
        ("sessions_spawn", {"message": "\t"}, "message: expected words"),
        ("sessions_send", {"sessionKey": "a", "message": "hi", "timeoutSeconds": -1}, "timeoutSeconds"),
        ("subagents", {"action": "stop"}, "input: stop expects target"),
        ("subagents", {"action": "send", "target": "#1"}, "input: send expects message"),
        ("subagents", {"action": "feed", "target": "#1"}, "action"),
    ],
)
def test_wrong_arguments_are_named(call: Call, tool: str, arguments: dict[str, Any], wrong: str) -> None:
    with pytest.raises(ToolInputInvalid, match=wrong):
        call(tool, **arguments)


@pytest.mark.parametrize("word", ["message", "content", "text"])
def test_a_message_has_several_argument_names(word: str) -> None:
    args = SessionsSend().parse({"label": "notes", word: "hi"})

    assert (args.message, args.timeout_seconds) == ("hi", 30)


@pytest.mark.parametrize("word", ["target", "id", "runId", "subRunId", "sessionKey", "label"])
def test_a_target_has_several_argument_names(word: str) -> None:
    args = Subagents().parse({"action": "kill", word: "run-1"})

    assert (args.action, args.target) == ("stop", "run-1")


@pytest.mark.parametrize("tool", ["sessions_list", "session_status", "sessions_yield", "subagents"])
def test_outside_a_worker_session_tools_fail_with_a_message(call: Call, tool: str) -> None:
    with pytest.raises(ToolError, match="no other sessions here"):
        call(tool)


def test_a_leaf_has_no_session_tools_but_its_own_status() -> None:
    everything = tools_at(0, Role.MAIN)

    assert everything >= CONTROL | {"session_status"}
    assert tools_at(1, Role.ORCHESTRATOR) >= CONTROL
    assert everything - tools_at(1, Role.LEAF) == CONTROL | {"gateway"} & everything
