"""Metrics for Prometheus: what is counted, and one address for all processes of a host."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from openclaw_workers import metrics
from openclaw_workers.config.metrics import MetricsSettings
from openclaw_workers.domain.ids import WorkerId
from openclaw_workers.engine.metrics.exporter import MetricsExporter, exporter_of
from openclaw_workers.store.metrics import Metrics
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.session_steps import text
from tests.support.programs import say
from tests.support.redis_server import free_port
from tests.support.waiting import eventually

HOST = "a-host"


@pytest.fixture
def exporters() -> Iterator[list[MetricsExporter]]:
    metrics.take_counts()
    started: list[MetricsExporter] = []
    yield started
    for each in started:
        each.stop()


def start(engine: EngineHarness, port: int, exporters: list[MetricsExporter]) -> MetricsExporter:
    stores = engine.stores
    exporter = MetricsExporter(
        Metrics(stores.redis, stores.keys), stores.workers, host=HOST, address="127.0.0.1", port=port
    )
    exporters.append(exporter)
    exporter.start()
    return exporter


def scrape(port: int, path: str = "/metrics") -> dict[str, float]:
    """`name{label values}` -> value."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=20) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    samples = [sample for family in families for sample in family.samples]
    return {f"{each.name}{sorted(each.labels.values())}": each.value for each in samples}


def scraped(port: int, series: str) -> float | None:
    try:
        return scrape(port).get(series)
    except OSError:
        return None


def test_turns_tokens_and_levels_are_exported(make_engine: MakeEngine, exporters: list[MetricsExporter]) -> None:
    engine, port = make_engine(), free_port()
    engine.stores.leases.tick(WorkerId(f"{HOST}/1/x"), {"host": HOST, "lane": "main"}, [])
    engine.say(text(say("hello")))
    engine.work()
    engine.say(text({"fail": "auth"}))
    engine.work()
    start(engine, port, exporters)

    assert eventually(lambda: scraped(port, "openclaw_turns_total['complete', 'main', 'ok']"), within=20) == 1
    found = scrape(port)
    assert found["openclaw_turns_total['auth', 'error', 'main']"] == 1
    assert found["openclaw_tokens_total['input', 'offline/script']"] > 0
    assert found["openclaw_workers['a-host', 'alive', 'main']"] == 1
    levels = [name for name in found if name.startswith("openclaw_queue_age_seconds")]
    assert len(levels) == 3
    for name in ("sweep_lag_seconds[]", "announces['pending']", "announces['blocked']", "outbox['waiting']"):
        assert f"openclaw_{name}" in found


def test_takeovers_and_fenced_writes_are_counted(engine: EngineHarness, exporters: list[MetricsExporter]) -> None:
    engine.say(text(say("hello")))
    engine.take()
    engine.set_ctl("lease_until", 1)
    engine.stores.redis.zadd(engine.stores.keys.due, {f"turn|{SESSION}": 1})
    engine.sweeper.sweep()
    engine.work()

    assert metrics.take_counts()["openclaw_lease_takeovers", "main"] == 1


def test_another_process_serves_when_the_first_has_ended(
    engine: EngineHarness, exporters: list[MetricsExporter]
) -> None:
    port = free_port()
    first = start(engine, port, exporters)
    eventually(lambda: scraped(port, "openclaw_sessions[]") is not None, within=20)
    start(engine, port, exporters)
    metrics.TURNS.add("main", "ok", "complete")
    series = "openclaw_turns_total['complete', 'main', 'ok']"
    eventually(lambda: scraped(port, series) == 1, within=20)

    first.stop()
    metrics.TURNS.add("main", "ok", "complete")

    assert eventually(lambda: scraped(port, series) == 2, within=20), "sums outlive the process that counted"


def test_only_the_metrics_are_served(engine: EngineHarness, exporters: list[MetricsExporter]) -> None:
    port = free_port()
    start(engine, port, exporters)
    eventually(lambda: scraped(port, "openclaw_sessions[]") is not None, within=20)
    with pytest.raises(urllib.error.HTTPError, match="404"):
        scrape(port, "/")


def test_counts_that_cannot_be_stored_are_kept(make_engine: MakeEngine, exporters: list[MetricsExporter]) -> None:
    away = make_engine(url=f"redis://127.0.0.1:{free_port()}/0")
    metrics.TURNS.add("main", "ok", "complete")
    exporter = MetricsExporter(
        Metrics(away.stores.redis, away.stores.keys),
        away.stores.workers,
        host=HOST,
        address="127.0.0.1",
        port=free_port(),
    )
    exporter.step()
    exporters.append(exporter)

    assert metrics.take_counts() == {("openclaw_turns", "main", "ok", "complete"): 1}


def test_nothing_listens_without_a_port_and_the_address_is_as_set(engine: EngineHarness) -> None:
    stores = engine.stores
    assert exporter_of(MetricsSettings(), Metrics(stores.redis, stores.keys), stores.workers) is None
    made = exporter_of(MetricsSettings(port=9_999, bind="lan"), Metrics(stores.redis, stores.keys), stores.workers)
    assert made is not None
    assert (made._address, made._port) == ("0.0.0.0", 9_999)
