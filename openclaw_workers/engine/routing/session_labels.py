"""Labels: short names by which people and other sessions find a session."""

from __future__ import annotations

from openclaw_workers.domain.encoding import replace_surrogates
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.session_key import agent_of
from openclaw_workers.errors import BadInput
from openclaw_workers.store.reader import Reader

LABEL_CHARS = 64


def check_label(text: str) -> str:
    """The label as it is stored.

    Raises:
        BadInput: it is empty, too long or not one line.
    """
    label = replace_surrogates(text).strip()
    if not label or len(label) > LABEL_CHARS or not label.isprintable():
        raise BadInput(f"a label is one line of 1 to {LABEL_CHARS} characters", hint="such as: release notes")
    return label


def sessions_labelled(reader: Reader, label: str, *, besides: SessionKey) -> list[SessionKey]:
    """Other sessions of the same agent that people have given this label; sub-agents' labels need not be unique."""
    agent = agent_of(besides)
    return [
        entry.session_key
        for entry in reader.labelled(label)
        if entry.agent_id == agent and entry.session_key != besides and entry.spawned_by is None
    ]
