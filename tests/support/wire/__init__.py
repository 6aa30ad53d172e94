"""A server that speaks the model APIs as they are on the wire, and fails on request; the real SDKs talk to it."""

from tests.support.wire.behaviour import Called, Failure, Hang, Raw, Reply
from tests.support.wire.server import Recorded, WireServer

__all__ = ["Called", "Failure", "Hang", "Raw", "Recorded", "Reply", "WireServer"]
