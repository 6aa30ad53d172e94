"""The session that a person named."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from openclaw_workers.domain.id_prefixes import PREFIX_CHARS
from openclaw_workers.domain.ids import SessionKey
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.engine.routing.addressing import named_session
from openclaw_workers.engine.routing.session_labels import sessions_labelled
from openclaw_workers.errors import BadInput, ConflictError, CorruptRecord, NotFound

if TYPE_CHECKING:
    from openclaw_workers.domain.session_row import SessionEntry
    from openclaw_workers.queries.installation import Installation

_UUID_END = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


def named_key(installation: Installation, wanted: str) -> SessionKey:
    """The key that a person named. The empty name, which elsewhere means the main session, is refused here.

    Otherwise `ocw sessions delete $UNSET` would delete the main session.

    Raises:
        BadInput: the name is empty, or no session can have it.
    """
    if not wanted.strip():
        raise BadInput("the KEY of a session is empty", hint="`ocw sessions list` shows the sessions")
    return named_session(wanted, installation.session_rules)


def find_key(installation: Installation, wanted: str) -> SessionKey:
    """The key of an existing session, even if its row is damaged: it can still be reset or deleted.

    Raises:
        BadInput, NotFound: as for `find_session`.
    """
    key = named_key(installation, wanted)
    return key if installation.overview.is_listed(key) else find_session(installation, wanted)[0]


def find_session(installation: Installation, wanted: str) -> tuple[SessionKey, SessionEntry]:
    """An existing session. Its agent may have been removed from the configuration.

    Raises:
        BadInput: the name is empty, or no session can have it.
        NotFound: there is none; the hint names the most similar one.
        CorruptRecord: its row is damaged.
    """
    key = named_key(installation, wanted)
    row = installation.stores.reader.session(key)
    if row is not None:
        return key, row
    if installation.overview.is_listed(key):
        raise damage_of(
            installation,
            f"session {key}",
            hint=f"`ocw sessions reset {key}` resets it, `ocw sessions delete {key}` removes it",
        )
    keys = installation.overview.session_keys()
    begun = _begun(key, keys)
    if len(begun) > 1:
        raise BadInput(f"several sessions begin with {key}: {', '.join(begun[:5])}", hint="write more of the key")
    if begun:
        return find_session(installation, begun[0])
    guess = did_you_mean(key, keys, cutoff=0.8)
    raise NotFound(f"no session {key}", hint=guess or "`ocw sessions list` shows the sessions")


def _begun(key: SessionKey, keys: Sequence[SessionKey]) -> list[SessionKey]:
    """The keys that begin so and end with a UUID. Names that people chose are never completed."""
    rest = key.rpartition(":")[2]
    if len(rest) < PREFIX_CHARS:
        return []
    return [each for each in keys if each.startswith(key) and _UUID_END.search(each, len(key) - len(rest))]


def check_label_is_free(installation: Installation, session: SessionKey, label: str) -> None:
    """See that no other session of the agent has a label.

    Raises:
        ConflictError: one has it.
    """
    others = sessions_labelled(installation.stores.reader, label, besides=session) if label else []
    if others:
        raise ConflictError(f"{others[0]} is labelled {label!r} already", hint="choose another label")


def damage_of(installation: Installation, where: str, *, hint: str) -> CorruptRecord:
    """The error for a damaged record, with the reason noted in quarantine."""
    reasons = [note["why"] for note in installation.stores.reader.quarantined() if note["where"] == where]
    return CorruptRecord(where, reasons[0] if reasons else "its record is gone", hint=hint)
