"""The interface between the cron tool and the engine."""

from __future__ import annotations

from typing import Protocol

from openclaw_workers.tools.cron.inputs import CronInput


class SchedulePort(Protocol):
    """What one running turn may do with scheduled jobs. All results are JSON for the model."""

    def handle(self, call_id: str, args: CronInput) -> str:
        """Carry out one call. Repeating a call id adds nothing twice.

        Raises:
            OpenClawError: it makes no sense, or names something that is not there.
        """
