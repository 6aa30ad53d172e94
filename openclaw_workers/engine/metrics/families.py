"""The series that `/metrics` shows, in the form of Prometheus' client library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from openclaw_workers.domain.worker_info import WorkerInfo
from openclaw_workers.metrics import COUNTERS
from openclaw_workers.store.metrics import Levels, Metrics
from openclaw_workers.store.workers import Workers


class _Host(Collector):
    """What one host has counted, and how the whole installation stands."""

    def __init__(self, store: Metrics, workers: Workers, host: str) -> None:
        self._store = store
        self._workers = workers
        self._host = host

    def collect(self) -> Iterator[Metric]:
        yield from self._counters()
        yield from _gauges(self._store.levels())
        yield _workers_gauge(self._workers.all())

    def _counters(self) -> Iterator[Metric]:
        counts = self._store.counts(self._host)
        for counter in COUNTERS:
            family = CounterMetricFamily(counter.name, counter.help, labels=counter.labels)
            for (name, *values), amount in counts.items():
                # A process of another version may count under other labels.
                if name == counter.name and len(values) == len(counter.labels):
                    family.add_metric(values, amount)
            yield family


def _gauges(levels: Levels) -> Iterator[Metric]:
    queued = GaugeMetricFamily("openclaw_queued", "Wake-ups that no worker has fetched.", labels=["lane"])
    age = GaugeMetricFamily("openclaw_queue_age_seconds", "Age of the oldest of them.", labels=["lane"])
    for lane, count in levels.queued.items():
        queued.add_metric([lane], count)
        age.add_metric([lane], levels.queue_age_seconds[lane])
    announces = GaugeMetricFamily("openclaw_announces", "Results that are not delivered.", labels=["state"])
    announces.add_metric(["pending"], levels.announces_pending)
    announces.add_metric(["blocked"], levels.announces_blocked)
    outbox = GaugeMetricFamily("openclaw_outbox", "Messages to chats that are not sent.", labels=["state"])
    outbox.add_metric(["waiting"], levels.deliveries_waiting)
    outbox.add_metric(["unsent"], levels.deliveries_unsent)
    lag = "How long the oldest due item has been due."
    yield from (queued, age, announces, outbox)
    yield GaugeMetricFamily("openclaw_sweep_lag_seconds", lag, value=levels.sweep_lag_seconds)
    yield GaugeMetricFamily("openclaw_running_turns", "Turns that workers hold.", value=levels.running)
    yield GaugeMetricFamily("openclaw_sessions", "Sessions.", value=levels.sessions)


def _workers_gauge(workers: Sequence[WorkerInfo]) -> Metric:
    family = GaugeMetricFamily("openclaw_workers", "Worker processes.", labels=["host", "lane", "state"])
    found: dict[tuple[str, str, str], int] = {}
    for info in workers:
        state = "silent" if not info.alive else "drained" if info.facts.get("drain") == "1" else "alive"
        named = info.facts.get("host", ""), info.facts.get("lane", ""), state
        found[named] = found.get(named, 0) + 1
    for labels, count in found.items():
        family.add_metric(labels, count)
    return family


def exposition(store: Metrics, workers: Workers, host: str) -> bytes:
    """The answer to a scrape.

    Raises:
        StoreUnavailable: Redis is away.
    """
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Host(store, workers, host))
    return generate_latest(registry)
