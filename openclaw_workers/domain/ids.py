"""The ids that cross module borders, each with its own type so that the type checker catches mix-ups."""

from __future__ import annotations

import os
import random
from typing import NewType

SessionKey = NewType("SessionKey", str)
"""`agent:<agentId>:<rest>`: the address of a conversation. A reset does not change it."""

SessionId = NewType("SessionId", str)
"""One generation of a session. A reset gives the same session key a new session id."""

RunId = NewType("RunId", str)
"""One turn across all its attempts. It is also the Celery task id of the turn's wake-ups."""

BatchId = NewType("BatchId", str)
"""The children that one assistant message spawned. It is also the group id of their chord."""

MessageId = NewType("MessageId", str)
"""One accepted message. Derived from the channel's own id where there is one, so that duplicates are detected."""

WorkerId = NewType("WorkerId", str)
"""One worker process: host, pid and a nonce, so that a reused pid counts as another worker."""

# Ids must be unique but need not be secret: knowing one grants nothing. `os.urandom` would release the interpreter
# lock at each call.
_random = random.Random()
os.register_at_fork(after_in_child=_random.seed)


def new_token() -> str:
    return f"{_random.getrandbits(64):016x}"


def new_uuid() -> str:
    """A random UUID, version 4. Made by hand, because every message needs two."""
    digits = f"{_random.getrandbits(128):032x}"
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:]}"


def new_session_id() -> SessionId:
    return SessionId(new_uuid())


def new_run_id() -> RunId:
    return RunId(f"run-{new_token()}")


def new_message_id() -> MessageId:
    return MessageId(f"msg-{new_token()}")
