"""Where an agent's tools run."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator

from openclaw_workers.config.base import Protects, Section

_WORDS = {"trusted": {"mode": "off"}, "restricted": {"mode": "all"}}


class SandboxSettings(Section):
    mode: Annotated[Literal["off", "non-main", "all"], Protects("off")] = "off"
    """off: on the host; non-main: sandboxed except in the agent's main session; all: always sandboxed.
    Not in effect yet: it limits what the session tools see and spawn, but every tool runs on the host."""

    scope: Literal["session", "agent", "shared"] = "agent"
    """Who shares one sandbox: one session, all sessions of the agent, or all agents. Not in effect yet."""

    workspace_access: Literal["none", "ro", "rw"] = "none"
    """Access of a sandbox to the agent's workspace. Not in effect yet."""

    session_tools_visibility: Literal["spawned", "all"] = "spawned"
    """Sessions that the session tools of a sandboxed session can see."""


def _from_word(value: object) -> object:
    if isinstance(value, str):
        if value not in _WORDS:
            raise ValueError("expected a mapping, or one of the words trusted (mode off), restricted (mode all)")
        return _WORDS[value]
    return value


SandboxField = Annotated[
    SandboxSettings,
    BeforeValidator(_from_word, json_schema_input_type=SandboxSettings | Literal["trusted", "restricted"]),
]
