"""`cli/<name>`: a real program as a model."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.models import ModelsSettings
from openclaw_workers.domain.transcript import AssistantEntry, TranscriptEntry, Usage
from openclaw_workers.errors import FailureReason, ProviderError, TurnAborted
from openclaw_workers.providers.base import Answer, ModelRequest, StreamEvent, TextDelta, UsageSoFar
from openclaw_workers.providers.registry import Providers
from tests.support.waiting import eventually
from tests.unit.providers.offline_conversation import answer_of, text_of, until_answered, user

PROGRAM = Path(__file__).parents[2] / "support" / "wire" / "cli_agent.py"


class Agent:
    def __init__(self, home: Path, *arguments: str, **settings: Any) -> None:
        command = [sys.executable, str(PROGRAM), "--home", str(home), *arguments]
        self.home = home
        self.provider = Providers(
            ModelsSettings.model_validate({"cli": {"helper": {"command": command, **settings}}})
        ).get("cli")

    def events(self, *messages: TranscriptEntry | str, cancel: Cancel | None = None) -> list[StreamEvent]:
        entries = [user(each) if isinstance(each, str) else each for each in messages]
        request = ModelRequest("helper", "You are terse.", entries, workspace=self.home)
        return until_answered(lambda: self.provider.stream(request, cancel or Cancel()))

    def failure(self, *messages: str) -> ProviderError:
        with pytest.raises(ProviderError) as failed:
            self.events(*messages)
        return failed.value


def recorded(answer: Answer) -> AssistantEntry:
    return AssistantEntry(content=answer.content, provider="cli", model="helper")


@pytest.fixture
def resumable(tmp_path: Path) -> Agent:
    return Agent(tmp_path, "--json", output="jsonl", textField="message.text", resumeArgs=["--resume", "{session}"])


def test_plain_text_is_the_answer(tmp_path: Path) -> None:
    assert text_of(Agent(tmp_path).events("hello")) == "turn 1: You are terse.\n\nhello\n"


def test_a_prompt_can_be_an_argument(tmp_path: Path) -> None:
    agent = Agent(tmp_path, "--say", "{model} hears {prompt}", input="argument")
    assert text_of(agent.events("{system} stays")) == "turn 1: helper hears You are terse.\n\n{system} stays\n"


@pytest.mark.parametrize(("way", "on_input"), [("argument", ""), ("stdin", "hello")])
def test_the_prompt_is_on_standard_input_only_if_configured(tmp_path: Path, way: str, on_input: str) -> None:
    command = [sys.executable, "-c", "import sys; print(sys.argv[1:], [sys.stdin.read()])", "{prompt}"]
    helper = Providers(ModelsSettings.model_validate({"cli": {"helper": {"command": command, "input": way}}})).get(
        "cli"
    )
    request = ModelRequest("helper", "", [user("hello")], workspace=tmp_path)

    assert text_of(until_answered(lambda: helper.stream(request, Cancel()))) == f"['hello'] {[on_input]}\n"


def test_a_prompt_too_long_for_an_argument_is_a_context_overflow(tmp_path: Path) -> None:
    """And not a program that cannot be started: compaction may help, another model would not."""
    agent = Agent(tmp_path, "--say", "{prompt}", input="argument")
    assert len(text_of(agent.events("x" * 120_000))) > 120_000
    failed = agent.failure("x" * 140_000)
    assert failed.reason is FailureReason.CONTEXT_OVERFLOW
    assert failed.hint == "set models.cli.helper.input to stdin"
    assert text_of(Agent(tmp_path).events("x" * 140_000)).endswith("x\n")


def test_a_long_conversation_is_cut_to_the_size_of_an_argument(tmp_path: Path) -> None:
    windows = [
        Agent(tmp_path, "{prompt}", input=how).provider.context_window("helper") for how in ("stdin", "argument")
    ]
    assert windows == [200_000, 32_768]
    assert Agent(tmp_path, "{prompt}", input="argument", contextWindow=900).provider.context_window("helper") == 900


def test_a_separate_system_prompt_is_not_repeated_in_the_prompt(tmp_path: Path) -> None:
    agent = Agent(tmp_path, "--say", "<{system}> {prompt}", input="argument")
    assert text_of(agent.events("hello")) == "turn 1: <You are terse.> hello\n"
    resumable = Agent(
        tmp_path,
        *("--json", "--say", "<{system}> {prompt}"),
        input="argument",
        output="jsonl",
        textField="message.text",
        resumeArgs=["--resume", "{session}"],
    )
    first = answer_of(resumable.events("one"))
    request = ModelRequest(
        "helper", "Be terse.\n\nIn Latin.", [user("one"), recorded(first), user("two")], system_extra="In Latin."
    )
    again = until_answered(lambda: resumable.provider.stream(request, Cancel()))
    assert text_of(again) == "turn 2: <Be terse.\n\nIn Latin.> two"


def test_json_lines_give_text_session_and_usage(resumable: Agent) -> None:
    events = resumable.events("hello")
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["turn 1: You ar", "e terse.\n\nhello"]
    answer = answer_of(events)
    assert (answer.usage, answer.estimated) == (Usage(input=11, output=7), False)


def test_missing_usage_is_estimated(tmp_path: Path) -> None:
    events = Agent(tmp_path).events("x" * 4000)
    answer = answer_of(events)
    assert answer.estimated
    assert [answer.usage.input, answer.usage.output] == [pytest.approx(1000, rel=0.1)] * 2
    assert events[0] == UsageSoFar(Usage(input=answer.usage.input), estimated=True), "if it is given up meanwhile"


def test_a_resumed_session_gets_only_the_new_messages(resumable: Agent) -> None:
    first = answer_of(resumable.events("one"))
    again = resumable.events("one", recorded(first), "two")
    assert text_of(again) == "turn 2: two"


def test_the_session_id_is_read_from_the_configured_field(tmp_path: Path) -> None:
    settings = {"output": "jsonl", "textField": "message.text", "resumeArgs": ["--resume", "{session}"]}
    for name, said in (("meta.id", "turn 2: two"), ("meta.none", "The conversation so far")):
        agent = Agent(tmp_path, "--json", **settings, sessionField=name)
        first = answer_of(agent.events("one"))
        assert said in text_of(agent.events("one", recorded(first), "two"))


def test_a_session_that_the_program_forgot_is_sent_in_full_again(resumable: Agent) -> None:
    first = answer_of(resumable.events("one"))
    for memory in resumable.home.iterdir():
        memory.unlink()
    said = text_of(resumable.events("one", recorded(first), "two"))
    assert said.startswith("turn 1: You are terse.")
    assert "User: one" in said
    assert said.endswith("two")


def test_without_resuming_the_whole_conversation_is_sent(tmp_path: Path) -> None:
    agent = Agent(tmp_path, "--json", output="jsonl", textField="message.text")
    first = answer_of(agent.events("one"))
    assert "The conversation so far:\n\nUser: one" in text_of(agent.events("one", recorded(first), "two"))


def test_a_program_that_fails_says_why(tmp_path: Path) -> None:
    failed = Agent(tmp_path).failure("fail")
    assert failed.message == "cli/helper ended with status 3: cannot: no licence"
    assert failed.code == "exit_3"
    failed = Agent(tmp_path, env={"LICENCE": "licence"}).failure("fail")
    assert failed.message == "cli/helper ended with status 3: cannot: no ***", "its secrets are not repeated"


def test_what_a_program_complains_of_decides_what_is_called_next(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('Error: rate limit reached, try later')"]
    settings = ModelsSettings.model_validate({"cli": {"helper": {"command": command}}})
    request = ModelRequest("helper", "", [user("hello")], workspace=tmp_path)
    with pytest.raises(ProviderError) as failed:
        list(Providers(settings).get("cli").stream(request, Cancel()))
    assert (failed.value.reason, failed.value.status) == (FailureReason.RATE_LIMIT, None)


def test_a_missing_program_is_reported(tmp_path: Path) -> None:
    settings = ModelsSettings.model_validate({"cli": {"helper": {"command": ["no-such-program"]}}})
    with pytest.raises(ProviderError, match="no-such-program could not be started") as failed:
        list(Providers(settings).get("cli").stream(ModelRequest("helper", "", [user("x")]), Cancel()))
    assert failed.value.reason is FailureReason.MODEL_NOT_FOUND


def test_time_and_output_are_limited(tmp_path: Path) -> None:
    late = Agent(tmp_path, timeoutSeconds=1).failure("hang")
    assert (late.reason, late.code) == (FailureReason.TIMEOUT, "time_limit")
    assert Agent(tmp_path, maxOutputBytes=5000).failure("flood").code == "output_limit"
    assert Agent(tmp_path, maxOutputBytes=5000).failure("x" * 6000).code == "output_limit", "no more than is set"


@pytest.mark.parametrize(
    ("order", "limit", "code"),
    [("child", {"timeoutSeconds": 1}, "time_limit"), ("child flood", {"maxOutputBytes": 5000}, "output_limit")],
)
def test_a_limit_ends_the_whole_tree(tmp_path: Path, order: str, limit: dict[str, int], code: str) -> None:
    assert Agent(tmp_path, **limit).failure(order).code == code
    assert eventually(lambda: not _lives(_grandchild(tmp_path)), within=1)


def test_a_program_gets_its_own_variables_and_not_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "ours")
    assert text_of(Agent(tmp_path, env={"AGENT_KEY": "its"}).events("env")) == f"its None {tmp_path}\n"


def test_a_stop_ends_the_whole_tree(tmp_path: Path) -> None:
    agent, cancel = Agent(tmp_path), Cancel()
    request = ModelRequest("helper", "", [user("child")], workspace=tmp_path)
    events = agent.provider.stream(request, cancel)
    grandchild = psutil.Process(int(_first_words(events)))
    when: list[float] = []

    def stop() -> None:
        when.append(time.monotonic())
        cancel.set(TurnAborted("stopped"))

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(TurnAborted):
        list(events)
    assert time.monotonic() - when[0] < 1.0
    thread.join()
    assert eventually(lambda: not _lives(grandchild), within=1)


def test_a_reader_that_goes_away_ends_the_whole_tree(tmp_path: Path) -> None:
    events = Agent(tmp_path).provider.stream(ModelRequest("helper", "", [user("child")]), Cancel())
    grandchild = psutil.Process(int(_first_words(events)))
    events.close()  # type: ignore[attr-defined]
    assert eventually(lambda: not _lives(grandchild), within=1)


def _first_words(events: Iterator[StreamEvent]) -> str:
    return next(event.text for event in events if isinstance(event, TextDelta))


def _grandchild(home: Path) -> psutil.Process | None:
    pid = int((home / "grandchild").read_text())
    return psutil.Process(pid) if psutil.pid_exists(pid) else None


def _lives(process: psutil.Process | None) -> bool:
    return process is not None and process.is_running() and process.status() != psutil.STATUS_ZOMBIE
