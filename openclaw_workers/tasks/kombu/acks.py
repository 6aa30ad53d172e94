"""Messages that outlive the connection they came by.

A turn goes on while Redis restarts. If the pool child that carries it is killed afterwards, Celery gives the message
back through the channel that delivered it, which is gone; kombu fails and the worker ends. The same happens when kombu
restores unacknowledged messages while it closes a lost connection. Neither is needed: the sweep wakes every session
that has work and no owner.
"""

from __future__ import annotations

from kombu.transport import virtual


class ReconnectSafeQoS(virtual.QoS):
    """Acknowledging is bookkeeping in memory; only giving a message back needs the connection."""

    restore_at_shutdown = False

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        super().reject(delivery_tag, requeue=requeue and not _has_lost_connection(self))


def _has_lost_connection(qos: virtual.QoS) -> bool:
    transport = qos.channel.connection
    return transport is None or transport.client is None


def keep_acks_across_reconnects() -> None:
    """Have every channel of this process use it.

    A Redis channel without `ack_emulation` always takes the class that it finds in `virtual`.
    """
    vars(virtual)["QoS"] = ReconnectSafeQoS
