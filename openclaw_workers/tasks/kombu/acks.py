"""Messages that outlive the connection they came by.

A turn goes on while Redis restarts, so its message is acknowledged when the channel that delivered it is gone; or given
back, when the pool child that carried the turn was killed. kombu then looks for the server of a connection that has
none, and the error ends the worker. The same happens when it puts unacknowledged messages back while it closes a lost
connection. None of it is needed: what was acknowledged in vain comes once more after the visibility timeout, if one is
set, and finds nothing to do; the sweep wakes whoever has no owner.
"""

from __future__ import annotations

from kombu.transport import virtual
from kombu.transport.redis import Channel, QoS


class ReconnectSafeQoS(QoS):
    """For channels that emulate acknowledgements."""

    restore_at_shutdown = False

    def ack(self, delivery_tag: str) -> None:
        if _is_cut_off(self):
            virtual.QoS.ack(self, delivery_tag)
        else:
            super().ack(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if _is_cut_off(self):
            virtual.QoS.ack(self, delivery_tag)
        else:
            super().reject(delivery_tag, requeue=requeue)


class PlainLastingQoS(virtual.QoS):
    """For channels without acknowledgements: only to give a message back needs the connection."""

    restore_at_shutdown = False

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        super().reject(delivery_tag, requeue=requeue and not _is_cut_off(self))


def _is_cut_off(qos: virtual.QoS) -> bool:
    transport = qos.channel.connection
    return transport is None or transport.client is None


def keep_acks_across_reconnects() -> None:
    """Have every channel of this process use it.

    A channel without `ack_emulation` takes no class of its own, but the one that it finds in `virtual`.
    """
    Channel.QoS = ReconnectSafeQoS
    vars(virtual)["QoS"] = PlainLastingQoS
