"""The ids that cross module borders, told apart by the type checker."""

from __future__ import annotations

import os
import random
import uuid
from typing import NewType

SessionKey = NewType("SessionKey", str)
"""`agent:<agentId>:<rest>`: the address of a conversation; outlives resets."""

SessionId = NewType("SessionId", str)
"""One life of a session; a reset gives the same key a new one."""

RunId = NewType("RunId", str)
"""One turn, across all its attempts. Also the Celery task id of its wake-ups."""

BatchId = NewType("BatchId", str)
"""The children of one assistant message. Also the group id of their chord."""

MessageId = NewType("MessageId", str)
"""One accepted message. Derived from the channel's own id where there is one, so repeats are noticed."""

WorkerId = NewType("WorkerId", str)
"""One worker process: host, pid and a nonce, so that a reused pid is another worker."""

# Ids must differ, not be hard to guess: nothing is granted to who knows one. The system's own source would give up the
# interpreter to another thread at each call.
_random = random.Random()
os.register_at_fork(after_in_child=_random.seed)


def new_token() -> str:
    return f"{_random.getrandbits(64):016x}"


def new_uuid() -> str:
    return str(uuid.UUID(int=_random.getrandbits(128), version=4))


def new_session_id() -> SessionId:
    return SessionId(new_uuid())


def new_run_id() -> RunId:
    return RunId(f"run-{new_token()}")


def new_message_id() -> MessageId:
    return MessageId(f"msg-{new_token()}")
