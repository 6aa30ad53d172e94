"""Usage of model calls wherever it is shown, and session options: reasoning, usage lines, verbose tools."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fleet import Fleet
from tests.support.ocw import Ocw
from tests.support.wire import Called, Failure, Reply, WireServer

PRICES = {"input": 10.0, "output": 100.0}


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    with WireServer() as running:
        yield running


@pytest.fixture(scope="module")
def priced(server: WireServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Two models with prices; the second is the fallback."""
    models = [{"id": name, "cost": PRICES, "reasoning": True} for name in ("first", "second")]
    provider = {"baseUrl": server.url, "api": "anthropic-messages", "models": models}
    chosen = {"primary": "local/first", "fallbacks": ["local/second"]}
    config = {
        "models": {"providers": {"local": provider}, "cooldownScope": "model", "aliases": {"other": "local/second"}},
        "agents": {"defaults": {"model": chosen, "thinkingDefault": "low"}},
        "engine": {"leaseSeconds": 8.0},
    }
    with Fleet(tmp_path_factory.mktemp("priced"), config) as fleet:
        fleet.worker()
        yield fleet


@pytest.fixture(scope="module")
def ocw(priced: Fleet) -> Ocw:
    return Ocw(priced)


def cost_of(usage: dict[str, int]) -> float:
    return (usage["input"] * PRICES["input"] + usage["output"] * PRICES["output"]) / 1_000_000


def test_a_call_is_counted_wherever_usage_is_shown(priced: Fleet, ocw: Ocw, server: WireServer) -> None:
    server.script.append(Reply("Hello."))
    said = ocw("agent", "-m", "hello", "--session", "shown", "--json", within=120).json
    cost = cost_of(said["usage"])
    assert (said["text"], said["model"]) == ("Hello.", "local/first")
    assert said["cost"] == pytest.approx(cost)
    assert cost > 0

    run = ocw("runs", "show", said["runId"], "--json").json
    tree = ocw("runs", "tree", said["runId"], "--json").json
    session = ocw("sessions", "show", "shown", "--json").json
    by_session = ocw("usage", "--by", "session", "--days", "1", "--json").json
    assert run["cost"] == pytest.approx(cost)
    assert (run["modelAttempts"], run["fallbackFrom"]) == ([], None)
    assert tree["trees"][0]["cost"] == pytest.approx(cost)
    assert (session["cost"], session["modelCalls"]) == (pytest.approx(cost), 1)
    (line,) = [each for each in by_session["usage"] if each["name"] == "agent:main:shown"]
    assert (line["calls"], line["failed"], line["cost"]) == (1, 0, pytest.approx(cost))
    assert (line["input"], line["output"]) == (said["usage"]["input"], said["usage"]["output"])
    assert f"${cost:.4f}" in ocw("runs", "show", said["runId"]).out
    assert f"${cost:.4f} for 1 model call(s)" in ocw("sessions", "show", "shown").out


@pytest.mark.parametrize(
    ("by", "name"),
    [("agent", "main"), ("model", "local/first"), ("tree", "agent:main:summed"), ("session", "agent:main:summed")],
)
def test_usage_is_summed_by_each_dimension(priced: Fleet, ocw: Ocw, server: WireServer, by: str, name: str) -> None:
    server.script.append(Reply("Summed."))
    ocw("agent", "-m", "sum", "--session", "summed", within=120)
    report = ocw("usage", "--by", by, "--json").json
    assert name in [each["name"] for each in report["usage"]]
    assert sum(each["calls"] for each in report["usage"]) == report["total"]["calls"]
    assert sum(each["cost"] for each in report["usage"]) == pytest.approx(report["total"]["cost"])
    text = ocw("usage", "--by", by).out
    assert text.splitlines()[0].startswith(by.upper())
    assert name in text


def test_days_are_in_order_and_a_wrong_dimension_is_refused(ocw: Ocw) -> None:
    days = [each["name"] for each in ocw("usage", "--by", "day", "--days", "30", "--json").json["usage"]]
    assert days == sorted(days)
    wrong = ocw("usage", "--by", "week")
    assert wrong.code == 2
    assert "'agent', 'session', 'model', 'day', 'tree'" in wrong.err


def test_a_reply_is_followed_by_its_usage_if_switched_on(priced: Fleet, ocw: Ocw, server: WireServer) -> None:
    def say(text: str) -> str:
        server.script.append(Reply("Yes."))
        done = ocw("agent", "-m", text, "--session", "line", within=120)
        assert done.out == "Yes.\n"
        return done.err

    def command(text: str) -> str:
        return ocw("agent", "-m", text, "--session", "line").out

    assert "tokens in" not in say("one")
    assert command("/usage on") == "Usage set: tokens.\n"
    reply = say("two")
    assert "tokens in, " in reply
    assert "$" not in reply
    command("/usage full")
    reply = say("three")
    assert "$0." in reply
    assert "local/" in reply
    history = ocw("sessions", "history", "line").out
    assert "tokens in" not in history, "the usage line is part of the conversation"


def test_the_model_that_was_chosen_answers(priced: Fleet, ocw: Ocw, server: WireServer) -> None:
    server.script += [Reply("a"), Reply("b"), Reply("c")]
    ocw("agent", "-m", "one", "--session", "chosen", within=120)
    assert ocw("agent", "-m", "/model other", "--session", "chosen").out == "Model set: local/second.\n"
    ocw("agent", "-m", "/think high", "--session", "chosen")
    ocw("agent", "-m", "two", "--session", "chosen", within=120)
    asked = server.requests[-1].body
    assert asked["model"] == "second"
    assert asked["thinking"]["budget_tokens"] > 1024
    ocw("agent", "-m", "/think off", "--session", "chosen")
    ocw("agent", "-m", "three", "--session", "chosen", within=120)
    assert server.requests[-1].body["thinking"] == {"type": "disabled"}


@pytest.mark.parametrize("level", ["on", "stream"])
def test_reasoning_is_shown_if_switched_on(priced: Fleet, ocw: Ocw, server: WireServer, level: str) -> None:
    session = f"thinking-{level}"
    server.script += [Reply("One.", thinking="unseen"), Reply("Two.", thinking="first this\nthen that")]
    hidden = ocw("agent", "-m", "one", "--session", session, within=120)
    assert "unseen" not in hidden.out + hidden.err
    ocw("agent", "-m", f"/reasoning {level}", "--session", session)
    seen = ocw("agent", "-m", "two", "--session", session, within=120)
    assert seen.out == "Two.\n"
    assert f"reasoning={level} | verbose=on" in str(server.requests[-1].body["system"][-1])
    assert "· thinks: first this\n· thinks: then that\n" in seen.err


def test_tools_are_shown_at_the_sessions_verbose_level(priced: Fleet, ocw: Ocw, server: WireServer) -> None:
    def say(text: str) -> str:
        server.script.extend([Reply(calls=[Called("exec", {"command": "echo $((6 * 7))"})]), Reply("Done.")])
        done = ocw("agent", "-m", text, "--session", "tools", within=120)
        assert done.out == "Done.\n"
        return done.err

    assert "· exec done" in say("one")
    ocw("agent", "-m", "/verbose off", "--session", "tools")
    assert say("two") == ""
    ocw("agent", "-m", "/verbose full", "--session", "tools")
    assert say("three").splitlines().count("·   42") == 1


def test_a_fallback_is_shown_with_each_attempt(priced: Fleet, ocw: Ocw, server: WireServer) -> None:
    server.script += [Failure(404, "there is no such model", type="not_found_error"), Reply("From the second.")]
    said = ocw("agent", "-m", "hello", "--session", "fallback", within=120)
    assert said.out == "From the second.\n"
    assert "local/first failed (model_not_found); local/second answered instead" in said.err

    found = ocw("runs", "list", "--session", "fallback", "--json").json["runs"][0]
    run = ocw("runs", "show", found["runId"], "--json").json
    text = ocw("runs", "show", found["runId"]).out
    assert (run["model"], run["fallbackFrom"]) == ("local/second", "local/first")
    assert [(each["model"], each["status"]) for each in run["modelAttempts"]] == [("local/first", 404)]
    assert "local/second answered instead of local/first" in text
    assert "local/first: model_not_found (" in text


def test_a_message_can_add_to_the_system_prompt_of_its_turn(server: WireServer, ocw: Ocw) -> None:
    for more in (["--system", "Speak Latin."], []):
        assert ocw("agent", "-m", "hello", "--session", "latin", *more).code == 0
    with_it, without = (str(request.body["system"]) for request in server.requests[-2:])
    assert "## Additional Instructions\\nSpeak Latin." in with_it
    assert "Latin" not in without
    assert "system prompt is empty" in ocw("agent", "-m", "hello", "--system", " ").err


def test_a_fallback_is_also_in_json(priced: Fleet, ocw: Ocw, server: WireServer) -> None:
    server.script += [Failure(404, "there is no such model", type="not_found_error"), Reply("From the second.")]
    said = ocw("agent", "-m", "hello", "--session", "in-json", "--json", within=120).json
    assert (said["model"], said["fallbackFrom"]) == ("local/second", "local/first")
    said = ocw("agent", "-m", "hello", "--session", "in-json", "--json", within=120).json
    assert (said["model"], said["fallbackFrom"]) == ("local/first", None)


def test_an_answer_cut_at_the_output_limit_says_so(priced: Fleet, ocw: Ocw, server: WireServer) -> None:
    server.script += [Reply("To be", stop="max_tokens"), Reply("To be", stop="max_tokens"), Reply("or not.")]
    said = ocw("agent", "-m", "hello", "--session", "long", within=120)
    assert (said.code, said.out) == (0, "To be\n")
    assert "the answer is cut here: local/first reached its output limit" in said.err
    found = [ocw("agent", "-m", "hello", "--session", "long", "--json", within=120).json for _ in range(2)]
    assert [(each["status"], each["reason"], each["text"]) for each in found] == [
        ("ok", "length", "To be"),
        ("ok", "complete", "or not."),
    ]
