"""Metrics for Prometheus."""

from __future__ import annotations

from pydantic import Field, StrictInt

from openclaw_workers.config.base import Section
from openclaw_workers.config.gateway import HostName


class MetricsSettings(Section):
    port: StrictInt | None = Field(default=None, ge=1, le=65_535)
    """TCP port of http://…/metrics; unset: metrics are off. All processes of a host share it."""

    bind: HostName = "loopback"
    """Where it listens: loopback (this machine only), lan (every address of this machine), or one address."""

    @property
    def address(self) -> str:
        """What the socket is bound to."""
        return {"loopback": "127.0.0.1", "lan": "0.0.0.0"}.get(self.bind, self.bind)  # noqa: S104
