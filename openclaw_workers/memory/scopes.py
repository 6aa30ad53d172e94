"""Who sees what. Every point of the index has one scope; a session searches the scopes that are its own.

    files                    the agent's shared memory files
    peer:<folder>            notes of one person's direct chat, below memory/peers/<folder>
    session:<session key>    the transcript of a session, and conversations that were saved from it

A sub-agent searches the scopes of the session at the root of its tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

from openclaw_workers.domain.session_key import Kind, parse_key

SHARED = "files"
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_SHOWN_CHARS = 40


@dataclass(frozen=True, slots=True)
class Visibility:
    """What one session may find. The agent is part of every query's filter."""

    agent_id: str
    scopes: tuple[str, ...]
    folder: str = ""
    """Where it saves notes instead of the shared files, relative to the workspace; "" for the shared ones."""
    can_write: bool = True
    sees_all: bool = False
    """All scopes of the agent: for the people who run it, never for a session."""

    def sees(self, scope: str) -> bool:
        return self.sees_all or scope in self.scopes


def session_scope(session_key: str) -> str:
    return f"session:{session_key}"


def session_in(scope: str) -> str:
    """The session key of a session's scope; "" for other scopes."""
    return scope.removeprefix("session:") if scope.startswith("session:") else ""


def peer_scope(folder: str) -> str:
    return f"peer:{folder}"


def peer_folder(session_key: str) -> str:
    """The name of a direct chat's folder: readable, and different for different chats."""
    rest = parse_key(session_key).rest
    shown = _UNSAFE.sub("-", rest).strip("-.")[:_SHOWN_CHARS]
    # The readable part is shortened and replaced; the hash keeps two such chats apart.
    return f"{shown}-{sha256(session_key.encode()).hexdigest()[:8]}"


def is_group(session_key: str) -> bool:
    return parse_key(session_key).kind in (Kind.GROUP, Kind.CHANNEL)


def is_peer(session_key: str) -> bool:
    """A direct chat with a session of its own, so that it is apart from the agent's main session."""
    return parse_key(session_key).kind is Kind.DM


def visibility(session_key: str, *, workspace_access: str = "rw") -> Visibility:
    """What a session may find; `session_key` is that of the root of its tree.

    `workspace_access`: rw, ro or none, as its sandbox allows; without it the shared files are not seen either.
    """
    agent, own = parse_key(session_key).agent_id, session_scope(session_key)
    shared = (SHARED,) if workspace_access != "none" else ()
    can_write = workspace_access == "rw"
    if is_peer(session_key):
        folder = peer_folder(session_key)
        return Visibility(agent, (*shared, peer_scope(folder), own), f"memory/peers/{folder}", can_write)
    return Visibility(agent, (*shared, own), "", can_write)
