"""A secret at the place where a text is cut does not show in part."""

from __future__ import annotations

import pytest

from openclaw_workers import redaction
from openclaw_workers.domain.runs import RunState
from openclaw_workers.engine.memory.read_lines import MAX_CHARS
from openclaw_workers.engine.shell.finished import SNIPPET_BYTES
from openclaw_workers.errors import TurnAborted
from openclaw_workers.redaction import mask_after_cut, mask_before_cut, protect
from openclaw_workers.tools.output_limit import MAX_OUTPUT_BYTES, limit_text, shorten_line
from tests.component.engine.conftest import SESSION, EngineHarness, MakeEngine
from tests.component.engine.session_steps import text
from tests.component.engine.test_background_commands import last_message, report, start
from tests.component.engine.test_turn_runner import in_background
from tests.support.programs import call, execute, say
from tests.support.waiting import eventually

PLANTED = "planted-7f3a-value"
PARTS = {PLANTED[:end] for end in range(4, len(PLANTED))} | {PLANTED[start:] for start in range(len(PLANTED) - 4)}
CONFIG = {"secrets": {"DEPLOY_KEY": {"value": PLANTED, "tools": ["exec"]}}}
BEFORE_AND_AFTER = 'printf "%0{before}d" 0; printf %s "$DEPLOY_KEY"; printf "%0{after}d" 0'


@pytest.fixture(autouse=True)
def _forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_known", redaction._KnownSecrets())


def all_that_is_told(engine: EngineHarness) -> str:
    events = [str(event.data) for event in engine.stores.reader.events(SESSION, "0")]
    return "\n".join([*(entry.model_dump_json() for entry in engine.log()[1:]), *events])


def parts_in(shown: str) -> list[str]:
    return sorted(part for part in PARTS if part in shown)


@pytest.mark.parametrize(
    ("before", "after"), [(MAX_OUTPUT_BYTES // 2 - 9, 90_000), (90_000, MAX_OUTPUT_BYTES // 2 - 9)]
)
def test_in_the_output_of_a_command(make_engine: MakeEngine, before: int, after: int) -> None:
    engine = make_engine(CONFIG)
    engine.say(text(call(execute(BEFORE_AND_AFTER.format(before=before, after=after))), say("done")))
    engine.work()

    told = all_that_is_told(engine)
    assert "left out here" in told
    assert parts_in(told) == []


@pytest.mark.parametrize("before", [490, 980])
def test_in_the_lines_that_are_shown_while_it_runs(make_engine: MakeEngine, before: int) -> None:
    engine = make_engine(CONFIG)
    engine.say(text(call(execute(BEFORE_AND_AFTER.format(before=before, after=492))), say("done")))
    engine.work()

    assert parts_in(all_that_is_told(engine)) == []


def test_in_a_text_and_a_line_that_are_too_long() -> None:
    protect([PLANTED])
    for at in range(len(PLANTED)):
        long = "x" * (1_000 - at) + PLANTED + "x" * 5_000
        assert parts_in(limit_text(long, 2_000)) == []
        assert parts_in(limit_text(long[::-1].replace(PLANTED[::-1], PLANTED), 2_000)) == []
        assert parts_in(shorten_line(long, 1_000)) == []


def test_only_what_may_be_part_of_a_secret_is_left_out() -> None:
    protect([PLANTED])

    assert mask_before_cut(f"a {PLANTED} b plan") == "a *** b "
    assert mask_after_cut(f"lue b {PLANTED} c") == " b *** c"
    assert mask_before_cut("explain") == "explain"
    assert mask_after_cut("a value") == "a value"


@pytest.mark.parametrize("after", [0, SNIPPET_BYTES - 9])
def test_in_the_report_of_a_background_command(make_engine: MakeEngine, after: int) -> None:
    engine = make_engine(CONFIG)
    started = start(
        engine, f'sleep 0.5; printf "%0900d" 0; printf %s "$DEPLOY_KEY"; printf "%0{after}d" 0; : {PLANTED}; exit 3'
    )
    assert report(engine) == 1

    assert started.info.id in last_message(engine)
    assert parts_in(all_that_is_told(engine)) == []


def test_in_an_answer_that_was_stopped(make_engine: MakeEngine) -> None:
    engine = make_engine(CONFIG)
    queued = engine.say(text({"text": f"{PLANTED} and " * 900, "chunks": 900, "chunkDelayMs": 100}))
    thread = in_background(engine)
    (handle,) = eventually(engine.process.runs, within=20)
    eventually(lambda: "text.delta" in {event.type for event in engine.stores.reader.events(SESSION, "0")}, within=20)
    handle.cancel.set(TurnAborted("interrupt"))
    thread.join(5)

    run = engine.run_of(queued)
    assert (run.state, (run.text or "")[:7]) == (RunState.KILLED, "*** and")
    assert parts_in((run.text or "") + all_that_is_told(engine)) == []


def test_in_a_long_line_of_a_file_and_a_memory_file(make_engine: MakeEngine) -> None:
    engine = make_engine(CONFIG)
    workspace = engine.built.agents.workspace("main")
    workspace.mkdir(parents=True, exist_ok=True)
    (workspace / "long.txt").write_text("0" * (MAX_OUTPUT_BYTES - 9) + PLANTED + "0" * 90_000)
    (workspace / "MEMORY.md").write_text("0" * (MAX_CHARS - 9) + PLANTED + "0" * 9_000)
    steps = [
        call({"tool": "read", "input": {"path": "long.txt"}}),
        call({"tool": "memory_get", "input": {"path": "MEMORY.md"}}),
    ]
    engine.say(text(*steps, say("done")))
    engine.work()

    told = all_that_is_told(engine)
    assert "is cut here" in told
    assert "truncated" in told
    assert parts_in(told) == []
