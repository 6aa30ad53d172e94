"""How far token estimates are off, learned from what the APIs report."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock


class Calibration:
    """Learns per model how far the estimate is off. Lives as long as its process; shared by its threads."""

    MODELS = 256
    LEAST, MOST = 0.5, 3.0
    """What a model's ratio can become; beyond that something else is wrong."""
    LEAST_TOKENS = 200
    """Smaller requests say more about their wrapping than about their text."""

    def __init__(self) -> None:
        self._ratios: OrderedDict[str, float] = OrderedDict()
        self._lock = Lock()

    def ratio(self, model: str) -> float:
        # Without the lock: it is asked for each entry of each request, and one value is always there.
        return self._ratios.get(model, 1.0)

    def learn(self, model: str, estimated: float, reported: int) -> None:
        """Take in one call. Too low an estimate can overflow the window, so it is mended faster than too high a one."""
        if estimated < self.LEAST_TOKENS or reported <= 0:
            return
        sample = min(self.MOST, max(self.LEAST, reported / estimated))
        with self._lock:
            known = self._ratios.get(model)
            weight = 1.0 if known is None else 0.5 if sample > known else 0.1
            self._ratios[model] = sample if known is None else known + weight * (sample - known)
            self._ratios.move_to_end(model)
            while len(self._ratios) > self.MODELS:
                self._ratios.popitem(last=False)
