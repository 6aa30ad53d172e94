"""Loops of tool calls: what is warned about, what is blocked, and what is left alone."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.agent.context.history import result_for
from openclaw_workers.agent.loop_detection import Action, PastCall, judge, past_calls, signature, with_warning
from openclaw_workers.config.tools import LoopDetectionSettings
from openclaw_workers.domain.transcript import AssistantEntry, ToolCallBlock, TranscriptEntry
from tests.unit.agent.entries import user

RUN = "run-1"
SMALL = LoopDetectionSettings(
    history_size=12, warning_threshold=3, critical_threshold=6, global_circuit_breaker_threshold=9
)


class Turn:
    """A turn whose calls are judged and answered as the loop would."""

    def __init__(self, settings: LoopDetectionSettings = SMALL) -> None:
        self.settings = settings
        self.log: list[TranscriptEntry] = [user()]
        self.actions: list[Action] = []

    def call(self, tool: str, result: str, run: str = RUN, **arguments: Any) -> Action:
        call = ToolCallBlock(id=f"call-{len(self.log)}", name=tool, arguments=arguments)
        verdict = judge(past_calls(self.log, run, len(self.log)), call, self.settings)
        blocked = verdict.action is Action.BLOCK
        answer = result_for(call, verdict.text if blocked else with_warning(result, verdict), is_error=blocked)
        answer.run_id = run
        self.log += [AssistantEntry(content=[call], run_id=run), answer]
        self.actions.append(verdict.action)
        return verdict.action


def test_a_repeated_call_is_warned_about_now_and_then_and_blocked_by_the_breaker() -> None:
    turn = Turn()
    for _ in range(14):
        turn.call("read", "same", path="a")

    assert [n for n, action in enumerate(turn.actions) if action is Action.WARN] == [3, 6]
    assert [n for n, action in enumerate(turn.actions) if action is Action.BLOCK] == [9, 10, 11, 12, 13]


def test_a_repeated_call_with_progress_is_never_blocked() -> None:
    turn = Turn()
    for n in range(30):
        turn.call("exec", f"line {n}", command="date")
    assert Action.BLOCK not in turn.actions
    assert Action.WARN in turn.actions


def test_only_the_latest_calls_count() -> None:
    for size, expected in ((9, Action.OK), (12, Action.WARN)):
        turn = Turn(SMALL.model_copy(update={"history_size": size}))
        for name in ("a", "a", "a", *"bcdefghij"[:9]):
            turn.call("read", "same", path=name)
        assert turn.call("read", "same", path="a") is expected


def test_polling_that_shows_the_same_is_blocked_earlier() -> None:
    turn = Turn()
    for _ in range(8):
        turn.call("process", "running", action="poll", sessionId="1")
    assert turn.actions[3] is Action.WARN
    assert turn.actions[6:] == [Action.BLOCK, Action.BLOCK]


def test_polling_that_shows_something_new_may_go_on() -> None:
    turn = Turn()
    for n in range(30):
        turn.call("process", f"{n} %", action="poll", sessionId="1")
    assert set(turn.actions) == {Action.OK}


def test_ping_pong_is_warned_about_and_blocked_without_progress() -> None:
    turn = Turn()
    for _ in range(5):
        turn.call("read", "a", path="a")
        turn.call("read", "b", path="b")
    assert turn.actions[3] is Action.WARN
    assert turn.actions[6:] == [Action.BLOCK] * 4


def test_ping_pong_with_progress_is_only_warned_about() -> None:
    turn = Turn()
    for n in range(12):
        turn.call("write", "ok", path="a", content="same")
        turn.call("exec", f"{n} failures", command="make")
    assert Action.WARN in turn.actions
    assert Action.BLOCK not in turn.actions


def test_another_call_in_between_ends_the_streak() -> None:
    turn = Turn()
    for _ in range(8):
        turn.call("read", "same", path="a")
    turn.call("exec", "x", command="ls")
    turn.call("exec", "x", command="pwd")
    assert turn.call("read", "same", path="a") is not Action.BLOCK


def test_the_order_of_arguments_and_the_other_name_of_a_tool_make_no_difference() -> None:
    turn = Turn()
    for n in range(9):
        if n % 2:
            turn.call("read", "same", path="a", limit=1)
        else:
            turn.call("read_file", "same", limit=1, path="a")
    assert turn.call("read", "same", path="a", limit=1) is Action.BLOCK


def test_calls_of_earlier_turns_do_not_count() -> None:
    turn = Turn()
    for _ in range(12):
        turn.call("read", "same", path="a", run="run-0")
    assert turn.call("read", "same", path="a") is Action.OK


def test_a_blocked_call_does_not_end_a_streak() -> None:
    call = ToolCallBlock(id="c", name="read", arguments={"path": "a"})
    same, blocked = PastCall(signature(call), "same"), PastCall(signature(call), "blocked", was_blocked=True)
    assert judge([*[same] * 5, blocked, *[same] * 4], call, SMALL).action is Action.BLOCK


def test_it_can_be_switched_off() -> None:
    turn = Turn(LoopDetectionSettings(enabled=False))
    for _ in range(40):
        turn.call("read", "same", path="a")
    assert set(turn.actions) == {Action.OK}


def test_with_the_defaults_it_warns_at_ten_and_breaks_at_thirty() -> None:
    turn = Turn(LoopDetectionSettings())
    for _ in range(32):
        turn.call("read", "same", path="a")
    assert turn.actions.index(Action.WARN) == 10
    assert turn.actions.index(Action.BLOCK) == 30


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.text(max_size=3)), max_size=40, unique_by=lambda c: c))
def test_calls_that_all_differ_are_never_touched(calls: list[tuple[str, str]]) -> None:
    turn = Turn()
    for path, content in calls:
        turn.call("write", "ok", path=path, content=content)
    assert Action.BLOCK not in turn.actions
    assert Action.WARN not in turn.actions


@given(st.lists(st.sampled_from("ab"), max_size=40))
def test_the_next_owner_comes_to_the_same_verdict(calls: list[str]) -> None:
    turn = Turn()
    for path in calls:
        turn.call("read", path, path=path)
    again = Turn()
    again.log = [type(entry).model_validate(entry.model_dump()) for entry in turn.log]
    assert turn.call("read", "a", path="a") is again.call("read", "a", path="a")
