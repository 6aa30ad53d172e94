"""Python imports this at start in a worker with this directory on its path. Its clock is then wrong by so many seconds.

Only what the worker itself reads is wrong; Redis has its own clock.
"""

from __future__ import annotations

import datetime
import os
import time

_wrong_by = float(os.environ["OCW_WRONG_BY"])
_time = time.time
_datetime = datetime.datetime


class _Wrong(_datetime):
    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
        return _datetime.fromtimestamp(_time() + _wrong_by, tz)


time.time = lambda: _time() + _wrong_by
datetime.datetime = _Wrong  # type: ignore[misc]
