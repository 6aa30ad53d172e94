"""The ids that cross module borders, told apart by the type checker."""

from __future__ import annotations

import secrets
import uuid
from typing import NewType

SessionKey = NewType("SessionKey", str)
"""`agent:<agentId>:<rest>`: the address of a conversation; outlives resets."""

SessionId = NewType("SessionId", str)
"""One life of a session; a reset gives the same key a new one."""

RunId = NewType("RunId", str)
"""One turn, across all its attempts. Also the Celery task id of its wake-ups."""

MessageId = NewType("MessageId", str)
"""One accepted message. Derived from the channel's own id where there is one, so repeats are noticed."""

WorkerId = NewType("WorkerId", str)
"""One worker process: host, pid and a nonce, so that a reused pid is another worker."""


def new_session_id() -> SessionId:
    return SessionId(str(uuid.uuid4()))


def new_run_id() -> RunId:
    return RunId(f"run-{secrets.token_hex(8)}")


def new_message_id() -> MessageId:
    return MessageId(f"msg-{secrets.token_hex(8)}")
