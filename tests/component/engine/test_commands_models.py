"""Slash commands about a session's model and about how much of its work is shown."""

from __future__ import annotations

import pytest

from openclaw_workers.config.model_names import OFFLINE, find_model, usable_models
from openclaw_workers.domain.accepted import Answered
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.transcript import CompactionEntry, dump_entry
from openclaw_workers.errors import BadInput, ProviderError
from openclaw_workers.providers.registry import Providers
from tests.component.engine.conftest import CLI, SESSION, EngineHarness, MakeEngine
from tests.support.programs import as_text, call, execute, program, say
from tests.support.waiting import eventually
from tests.support.wire import Reply, WireServer

HELLO = '{"steps": [{"text": "hi"}]}'
LOCAL = {
    "models": {
        "providers": {"local": {"baseUrl": "http://127.0.0.1:9/v1", "models": [{"id": "m"}]}},
        "cli": {"helper": {"command": ["true"]}},
        "aliases": {"Fast": "local/m"},
    }
}


def reply_to(engine: EngineHarness, text: str) -> str:
    answered = engine.intake.accept(text, session=SESSION, route=CLI, authority=Authority.OWNER)
    assert isinstance(answered, Answered)
    return answered.text


def row(engine: EngineHarness) -> dict[str, str]:
    return engine.stores.reader.row(SESSION)


@pytest.fixture
def begun(make_engine: MakeEngine) -> EngineHarness:
    engine = make_engine(LOCAL)
    engine.say(HELLO)
    engine.work()
    return engine


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("local/m", "local/m"),
        ("fast", "local/m"),
        ("FAST", "local/m"),
        ("local/not-listed", "local/not-listed"),
        ("cli/helper", "cli/helper"),
        ("offline/demo", "offline/demo"),
    ],
)
def test_a_model_is_chosen_by_name_or_alias(begun: EngineHarness, name: str, full: str) -> None:
    assert reply_to(begun, f"/model {name}") == f"Model set: {full}."
    provider, _, model = full.partition("/")
    assert (row(begun)["providerOverride"], row(begun)["modelOverride"]) == (provider, model)
    assert reply_to(begun, "/model").startswith(f"Model: {full}.")
    assert f"model   {full}" in reply_to(begun, "/status")


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("nonsense", "'nonsense' is not a model; expected provider/model or an alias: fast, local/m, cli/helper"),
        ("locale/m", "did you mean 'local/m'"),
        ("offline/dmo", "did you mean 'offline/demo'"),
        ("cli/other", "'cli/other' is not a model"),
        ("local/", "'local/' is not a model"),
    ],
)
def test_a_name_that_is_no_model_changes_nothing_and_the_reply_lists_models(
    begun: EngineHarness, name: str, why: str
) -> None:
    with pytest.raises(BadInput, match=why):
        reply_to(begun, f"/model {name}")
    assert "modelOverride" not in row(begun)


@pytest.mark.parametrize(("name", "full"), [("fast", "local/m"), ("offline/demo", "offline/demo")])
def test_a_new_session_can_begin_with_another_model(begun: EngineHarness, name: str, full: str) -> None:
    queued = begun.say(f"/new {name}")
    begun.work()
    assert begun.run_of(queued).text == f"New session, with {full}."
    assert "/".join((row(begun)["providerOverride"], row(begun)["modelOverride"])) == full


@pytest.mark.parametrize("name", ["nonsense", "locale/m", "offline/dmo", "cli/other", "local/"])
def test_a_name_that_is_no_model_begins_no_session_and_the_reply_lists_models(begun: EngineHarness, name: str) -> None:
    before = row(begun)["sessionId"]
    with pytest.raises(BadInput) as refused:
        begun.say(f"/new {name}")
    with pytest.raises(BadInput) as as_by_model:
        reply_to(begun, f"/model {name}")
    assert refused.value.message == as_by_model.value.message
    assert begun.work() == 0
    assert row(begun)["sessionId"] == before


def test_a_complete_list_admits_no_other_model(make_engine: MakeEngine) -> None:
    models = {**LOCAL["models"], "mode": "replace"}
    with pytest.raises(BadInput, match="there is no model local/x; configured are m"):
        find_model(make_engine({"models": models}).loaded.settings, "local/x")


def test_a_provider_without_a_key_may_be_chosen_and_is_remarked(begun: EngineHarness) -> None:
    assert "No key for anthropic is configured" in reply_to(begun, "/model anthropic/claude-opus-4-6")


def test_models_are_listed_with_their_aliases_and_the_present_one_is_marked(begun: EngineHarness) -> None:
    reply_to(begun, "/model fast")
    lines = reply_to(begun, "/model list").splitlines()
    assert "* local/m  fast" in lines
    assert "  offline/demo" in lines
    assert not any("anthropic" in line for line in lines), "there is no key for it"
    assert lines[-1] == "Other models of local may be named too."


def test_the_list_has_the_names_that_people_know_models_by(make_engine: MakeEngine) -> None:
    models = [{"id": "m", "name": "The Large One"}, {"id": "n", "name": "The Small One"}, {"id": "o"}]
    providers = {"local": {"baseUrl": "http://127.0.0.1:9/v1", "models": models}}
    engine = make_engine({"models": {"providers": providers, "aliases": {"big": "local/m"}}})
    lines = reply_to(engine, "/model list").splitlines()
    assert {"* local/m  big (The Large One)", "  local/n  (The Small One)", "  local/o"} <= set(lines)


def test_the_offline_models_are_all_there_is_without_a_provider(engine: EngineHarness) -> None:
    assert [line.strip(" *") for line in reply_to(engine, "/model list").splitlines()] == [
        "offline/demo",
        "offline/script",
    ]


def test_default_goes_back_to_the_agents_own_model(make_engine: MakeEngine) -> None:
    engine = make_engine({**LOCAL, "agents": {"defaults": {"model": "offline/script"}}})
    engine.say(HELLO)
    engine.work()
    reply_to(engine, "/model offline/demo")
    assert reply_to(engine, "/model default") == "Model set: offline/script (default)."
    assert not {"providerOverride", "modelOverride"} & row(engine).keys()


def test_the_next_turn_is_answered_by_the_chosen_model(begun: EngineHarness) -> None:
    reply_to(begun, "/model offline/demo")
    queued = begun.say("hello")
    begun.work()
    assert begun.run_of(queued).model == "offline/demo"


def test_what_is_offered_without_a_key_is_there(begun: EngineHarness) -> None:
    provider = Providers().get("offline")
    for name in OFFLINE:
        assert provider.context_window(name) > 0
    with pytest.raises(ProviderError) as error:
        provider.context_window("none")
    assert all(f"offline/{name}" in error.value.message for name in OFFLINE)
    assert set(usable_models(begun.loaded.settings)) >= {"local/m", "cli/helper", "offline/demo", "offline/script"}


@pytest.mark.parametrize(
    ("command", "column", "values", "unset"),
    [
        ("think", "thinkingLevel", ["off", "minimal", "low", "medium", "high", "xhigh"], "off"),
        ("reasoning", "reasoningLevel", ["off", "on", "stream"], "off"),
        ("verbose", "verboseLevel", ["off", "on", "full"], "on"),
        ("usage", "responseUsage", ["off", "tokens", "full"], "off"),
    ],
)
def test_levels_are_kept_shown_and_cleared(
    begun: EngineHarness, command: str, column: str, values: list[str], unset: str
) -> None:
    title = command.capitalize()
    assert reply_to(begun, f"/{command}").startswith(
        f"{title}: {unset} (default). Usage: /{command} [{'|'.join(values)}|"
    )
    for value in values:
        assert reply_to(begun, f"/{command} {value.upper()}").startswith(f"{title} set: {value}.")
        assert row(begun)[column] == value
        assert reply_to(begun, f"/{command}").startswith(f"{title}: {value}.")
    with pytest.raises(BadInput, match=f"'loud' is not a level of /{command}; expected one of {', '.join(values)}"):
        reply_to(begun, f"/{command} loud")
    assert row(begun)[column] == values[-1]
    assert reply_to(begun, f"/{command} default") == f"{title} set: {unset} (default)."
    assert column not in row(begun)
    assert begun.stores.reader.session(SESSION) is not None, "the row can still be read"


@pytest.mark.parametrize("text", ["/model offline/demo", "/think low", "/reasoning on", "/verbose off", "/usage on"])
def test_nothing_is_set_for_a_session_that_has_not_begun(engine: EngineHarness, text: str) -> None:
    with pytest.raises(BadInput, match="does not exist yet"):
        reply_to(engine, text)
    assert row(engine) == {}


def test_reasoning_says_when_there_will_be_nothing_to_see(begun: EngineHarness) -> None:
    reply_to(begun, "/model offline/script")
    assert "offline/script does not show its thinking" in reply_to(begun, "/reasoning stream")
    reply_to(begun, "/model fast")
    assert "Thinking is off; /think sets it." in reply_to(begun, "/reasoning on")
    reply_to(begun, "/think low")
    assert reply_to(begun, "/reasoning on") == "Reasoning set: on."


def test_think_says_when_the_model_will_not_be_reply_to(begun: EngineHarness) -> None:
    reply_to(begun, "/model offline/script")
    assert reply_to(begun, "/think high") == "Think set: high. offline/script has no thinking levels."
    reply_to(begun, "/model fast")
    said = "local/m has no thinking levels, according to models.providers.local.models[].reasoning."
    assert reply_to(begun, "/think high") == f"Think set: high. {said}"
    assert reply_to(begun, "/think off") == "Think set: off."
    reply_to(begun, "/model openai/o3")
    assert reply_to(begun, "/think high") == "Think set: high."


def test_results_of_tools_are_shown_at_level_full_only(begun: EngineHarness) -> None:
    calls = as_text(program(call(execute("echo out")), say("done")))

    def results() -> list[object]:
        events = begun.stores.reader.events(SESSION, "0")
        return [event.data.get("result") for event in events if event.type == "tool.ended"]

    begun.say(calls)
    begun.work()
    assert results() == [None]
    reply_to(begun, "/verbose full")
    begun.say(calls)
    begun.work()
    assert results()[-1] == "out\n[exit code 0]"


def test_context_tells_what_fills_the_window(begun: EngineHarness) -> None:
    text = reply_to(begun, "/context")
    assert text.startswith("Model offline/script, window 16,000 tokens\n")
    for part in ("system prompt", "  identity", "  tooling", "  runtime", "tools", "conversation: about"):
        assert f"\n{part}" in text or f" {part}" in text
    assert "  user messages: 1, about" in text
    assert "  assistant messages: 1, about" in text


def test_context_counts_what_the_model_still_sees(begun: EngineHarness) -> None:
    log = begun.stores.keys.log(SESSION)
    begun.stores.redis.rpush(log, dump_entry(CompactionEntry(summary="s" * 400, kept=1)))
    text = reply_to(begun, "/context")
    assert "  summary: 1, about 100 tokens" in text
    assert "  assistant messages: 1" in text
    assert "user messages" not in text


def test_context_follows_the_files_of_the_workspace(begun: EngineHarness) -> None:
    workspace = begun.loaded.state_dir / "workspace"
    (workspace / "AGENTS.md").write_text("Be kind.")

    def is_seen() -> bool:
        begun.say(HELLO)
        begun.work()
        return "file AGENTS.md: 8 characters" in reply_to(begun, "/context")

    eventually(is_seen, within=5)


def test_what_came_from_the_cache_is_in_the_window_too(make_engine: MakeEngine) -> None:
    with WireServer() as server:
        server.script.append(Reply("hi", input=10, output=5, cache_read=1000, cache_write=200))
        provider = {"baseUrl": server.url, "api": "anthropic-messages", "models": [{"id": "m"}]}
        config = {"models": {"providers": {"local": provider}}, "agents": {"defaults": {"model": "local/m"}}}
        engine = make_engine(config)
        engine.say("hello")
        engine.work()
    assert "Last request 1,215 tokens, 1% of it" in reply_to(engine, "/context")


def test_context_before_the_first_turn_promises_nothing(engine: EngineHarness) -> None:
    assert reply_to(engine, "/context") == "Nothing is known yet; send a message first."
