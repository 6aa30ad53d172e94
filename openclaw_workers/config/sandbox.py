"""Where an agent's tools run."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StrictBool, StrictInt

from openclaw_workers.config.base import WEEK_SECONDS, Bytes, Duration, Section

_WORDS = {"trusted": {"mode": "off"}, "restricted": {"mode": "all"}}
_MB = 1 << 20
SandboxBytes = Annotated[Bytes, Field(ge=_MB, le=_MB << 20)]


class SandboxLimitSettings(Section):
    memory: SandboxBytes = 1024 * _MB
    """Memory of a command: all its processes together if the worker can create cgroups, else each of them."""

    cpu_seconds: StrictInt = Field(default=600, ge=1, le=WEEK_SECONDS)
    """Seconds of processor time of one process."""

    processes: StrictInt = Field(default=128, ge=8, le=100_000)
    """Processes and threads at a time."""

    disk: SandboxBytes = 1024 * _MB
    """How much a command may leave in its workspace, and the size of one file. With workspaceAccess rw: beyond what was
    there when it began."""

    tmp: SandboxBytes = 64 * _MB
    """Size of /tmp and of /dev/shm, which are in memory and end with the command."""

    seconds: StrictInt = Field(default=1800, ge=1, le=WEEK_SECONDS)
    """Seconds a command may take at most, also in the background."""


class SandboxPruneSettings(Section):
    idle: Duration = timedelta(days=1)
    """A sandbox that has not been used for this long is deleted with its files; 0s: never."""

    max_age: Duration = timedelta(days=7)
    """A sandbox that is older is deleted with its files, once it is not in use; 0s: never."""


class SandboxSettings(Section):
    mode: Literal["off", "non-main", "all"] = "off"
    """off: on the host; non-main: sandboxed except in the agent's main session; all: always sandboxed."""

    backend: Literal["bubblewrap"] = "bubblewrap"
    """What isolates commands. If it does not work, commands are refused; they never run on the host instead."""

    scope: Literal["session", "agent", "shared"] = "agent"
    """Who shares one sandbox: one session, all sessions of the agent, or all agents."""

    workspace_access: Literal["none", "ro", "rw"] = "none"
    """Access to the agent's workspace. none: the sandbox has a directory of its own instead."""

    session_tools_visibility: Literal["spawned", "all"] = "spawned"
    """Sessions that the session tools of a sandboxed session can see."""

    network: StrictBool = False
    """Whether commands reach the network of the host."""

    limits: SandboxLimitSettings = SandboxLimitSettings.model_construct()
    """What commands may use."""

    prune: SandboxPruneSettings = SandboxPruneSettings.model_construct()
    """When sandboxes are deleted."""

    uid_base: StrictInt = Field(default=600_000, ge=1_000, le=2_000_000_000)
    """If workers run as root: the first of 10,000 user ids, of which each sandbox gets its own."""


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
