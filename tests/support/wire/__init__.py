"""An HTTP server that serves the model APIs to the real SDKs, and fails on request."""

from tests.support.wire.behaviour import Called, Failure, Hang, Raw, Reply
from tests.support.wire.server import Recorded, WireServer

__all__ = ["Called", "Failure", "Hang", "Raw", "Recorded", "Reply", "WireServer"]
