"""Servers that do not say what a call took: it is estimated, marked as such, and counts against budgets too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw_workers.config.models import Api
from tests.component.engine.conftest import MakeEngine
from tests.component.engine.wire_harness import wire_engine
from tests.support.wire import Called, Failure, Reply, WireServer

APIS: tuple[Api, ...] = ("anthropic-messages", "openai-completions", "openai-responses")


@pytest.fixture
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@pytest.mark.parametrize("api", APIS)
def test_what_was_not_counted_is_estimated(make_engine: MakeEngine, server: WireServer, api: Api) -> None:
    wired = wire_engine(make_engine, server, api=api, model="a/m")
    content = "x" * 4000
    wired.plan(
        "a1:m",
        Reply(calls=[Called("write", {"path": "notes", "content": content})], counted=False),
        Reply("y" * 2000, counted=False),
    )
    run = wired.turn()
    assert (Path(wired.engine.loaded.state_dir) / "workspace" / "notes").read_text() == content
    calls = wired.ledger()
    assert [(call.outcome, call.estimated) for call in calls] == [("ok", True)] * 2
    assert [call.usage.output for call in calls] == [pytest.approx(1000, rel=0.1), pytest.approx(500, rel=0.1)]
    assert all(call.usage.input > 500 and call.cost > 0 for call in calls)
    assert run.usage.output == sum(call.usage.output for call in calls)


@pytest.mark.parametrize("api", APIS)
def test_it_counts_against_a_budget(make_engine: MakeEngine, server: WireServer, api: Api) -> None:
    wired = wire_engine(make_engine, server, api=api, model="a/m", budgets={"day": {"tokens": 20_000}})
    wired.plan("a1:m", Reply("y" * 80_000, counted=False))
    wired.turn()
    assert wired.turn("more").reason == "budget"


@pytest.mark.parametrize("api", ["openai-completions", "openai-responses"])
def test_what_was_heard_before_a_stream_broke_was_written(
    make_engine: MakeEngine, server: WireServer, api: Api
) -> None:
    """These APIs count at the end alone."""
    wired = wire_engine(make_engine, server, api=api)
    wired.plan("a1:m", Reply("y" * 4000, after=4, then="reset"))
    wired.turn()
    cut, answered = wired.ledger()
    assert (cut.outcome, cut.estimated, answered.estimated) == ("cut", True, False)
    assert cut.usage.output >= 500
    assert cut.usage.input > 0


def test_a_call_that_was_refused_took_nothing(make_engine: MakeEngine, server: WireServer) -> None:
    wired = wire_engine(make_engine, server)
    wired.plan("a1:m", Failure(402, "no money"))
    wired.turn()
    refused, _ = wired.ledger()
    assert (refused.usage.total, refused.estimated) == (0, False)
