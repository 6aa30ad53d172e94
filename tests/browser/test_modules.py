"""The parts of the page that compute something, without a fleet's help."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.site import Visitor

pytestmark = pytest.mark.needs("chromium")


def call(visitor: Visitor, module: str, expression: str, *given: Any) -> Any:
    """Evaluate an expression over the exports `m` of a module and the given values `g`."""
    script = f"async (g) => {{ const m = await import('/assets/js/{module}.js'); return {expression}; }}"
    return visitor.page.evaluate(script, list(given))


def run(**more: Any) -> dict[str, Any]:
    return {"runId": "run-a", "state": "ok", "queuedAt": 0, "endedAt": None, "attempts": [], **more}


def spans(visitor: Visitor, given: dict[str, Any], now: int = 100) -> list[tuple[str, int, int]]:
    found = call(visitor, "views/runs/spans", "m.spansOf(g[0], g[1])", given, now)
    return [(each["kind"], each["from"], each["to"]) for each in found]


def test_a_run_is_queued_running_and_parked_in_turn(visitor: Visitor) -> None:
    taken = {"worker": "h/1/a", "at": 10, "how": "taken", "until": 20, "end": "parked", "woken": 60}
    resumed = {"worker": "h/2/b", "at": 65, "how": "unpark"}
    assert spans(visitor, run(attempts=[taken, resumed], endedAt=80)) == [
        ("queued", 0, 10),
        ("running", 10, 20),
        ("parked", 20, 60),
        ("queued", 60, 65),
        ("running", 65, 80),
    ]


def test_a_lost_worker_leaves_a_gap_in_the_queue(visitor: Visitor) -> None:
    lost = {"worker": "h/1/a", "at": 10, "how": "taken", "until": 30, "end": "lost"}
    given = run(state="queued", attempts=[lost])
    assert spans(visitor, given) == [("queued", 0, 10), ("running", 10, 30), ("queued", 30, 100)]
    assert call(visitor, "views/runs/spans", "m.lossesOf(g[0]).map((loss) => loss.at)", given) == [30]


def test_a_run_that_waits_or_is_parked_goes_on_until_now(visitor: Visitor) -> None:
    parked = {"worker": "h/1/a", "at": 10, "how": "taken", "until": 20, "end": "parked"}
    assert spans(visitor, run(state="queued")) == [("queued", 0, 100)]
    assert spans(visitor, run(state="parked", attempts=[parked]))[-1] == ("parked", 20, 100)
    assert spans(visitor, run(state="running", attempts=[{"worker": "w", "at": 5}]))[-1] == ("running", 5, 100)


@pytest.mark.parametrize(("length", "most"), [(1_000, 6), (41_000, 6), (3_600_000, 6), (40 * 86_400_000, 6)])
def test_an_axis_has_a_few_round_marks(visitor: Visitor, length: int, most: int) -> None:
    marks = call(visitor, "views/runs/spans", "m.ticks(g[0])", length)
    assert marks[0] == 0
    assert 2 <= len(marks) <= most + 1


def test_events_of_a_stream_are_read_whatever_their_line_ends(visitor: Visitor) -> None:
    block = 'id: 5-1\r\nevent: text.delta\r\ndata: {"text":\r\ndata: "a: b"}'
    assert call(visitor, "sse", "m.parse(g[0])", block) == {"id": "5-1", "type": "text.delta", "data": {"text": "a: b"}}
    assert call(visitor, "sse", "m.parse(': keep-alive').data") is None


def test_streamed_text_goes_when_the_transcript_has_it(visitor: Visitor) -> None:
    result = call(
        visitor,
        "views/chat/live_turn",
        """(() => {
          let turn = m.noTurn();
          const step = (type, data = {}) => { turn = m.advance(turn, { type, data }); };
          step("run.started", { run: "r", worker: "h/1/a" });
          step("text.delta", { text: "one " });
          const early = m.afterReading(turn, turn.mark, new Set()).text;
          const before = turn.mark;
          step("tool.started", { call: "c", tool: "exec" });
          const stale = m.afterReading(turn, before, new Set()).text;
          const fresh = m.afterReading(turn, turn.mark, new Set(["c"]));
          step("run.lost");
          return { early, stale, fresh: fresh.text, tools: Object.keys(fresh.tools), lost: turn.text };
        })()""",
    )
    assert result == {"early": "one ", "stale": "one ", "fresh": "", "tools": ["c"], "lost": ""}


def test_tool_calls_in_a_row_become_one_item(visitor: Visitor) -> None:
    def said(text: str, *calls: str) -> dict[str, Any]:
        blocks = [{"type": "toolCall", "id": each, "name": "exec", "arguments": {}} for each in calls]
        return {"role": "assistant", "timestamp": 1, "content": [{"type": "text", "text": text}, *blocks]}

    result = {"role": "toolResult", "toolCallId": "a", "content": [{"type": "text", "text": "out"}], "timestamp": 5}
    items = call(visitor, "views/chat/items", "m.itemsOf(g[0])", [said("hi", "a"), result, said("", "b"), said("end")])
    assert [item["kind"] for item in items] == ["assistant", "tools", "assistant"]
    assert [each["output"] for each in items[1]["calls"]] == ["out", None]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("m.duration(840)", "840 ms"),
        ("m.duration(125000)", "2 m 05 s"),
        ("m.money(0)", "–"),
        ("m.money(0.0042)", "$0.0042"),
        ("m.sessionName('agent:main:main')", "main"),
        ("m.sessionName('agent:work:telegram:dm:5')", "work · telegram · 5"),
        ("m.age(1, 100000001)", "1 d"),
    ],
)
def test_numbers_and_names_are_short(visitor: Visitor, expression: str, expected: str) -> None:
    assert call(visitor, "format", expression) == expected
