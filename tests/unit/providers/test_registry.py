"""Models are named `provider/model`; a wrong name is rejected with the known ones."""

from __future__ import annotations

import pytest

from openclaw_workers.cancel import Cancel
from openclaw_workers.config.models import ModelsSettings
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.base import ModelRequest
from openclaw_workers.providers.registry import Providers
from openclaw_workers.providers.remote import RemoteProvider
from tests.unit.providers.offline_conversation import ask, user


def test_a_model_name_is_split_at_its_first_slash() -> None:
    assert Providers().split("offline/demo") == ("offline", "demo")
    assert Providers().split("offline/some/other") == ("offline", "some/other")


@pytest.mark.parametrize("name", ["", "demo", "/demo", "offline/"])
def test_an_incomplete_model_name_is_rejected(name: str) -> None:
    with pytest.raises(ProviderError, match="needs a provider and a model, as in 'offline/demo'") as refused:
        Providers().split(name)
    assert refused.value.reason is FailureReason.MODEL_NOT_FOUND


def test_an_unknown_provider_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(
        ProviderError, match="unknown provider 'ofline'; known are: anthropic, offline, openai"
    ) as refused:
        Providers().split("ofline/demo")
    assert refused.value.reason is FailureReason.MODEL_NOT_FOUND
    assert Providers().names() == ["anthropic", "offline", "openai"]


def test_a_provider_is_built_once() -> None:
    assert (providers := Providers()).get("offline") is providers.get("offline")


def test_an_unknown_offline_model_is_rejected_with_the_known_ones() -> None:
    with pytest.raises(ProviderError, match="offline/demo and offline/script") as refused:
        ask("dmo", user("hello"))
    assert refused.value.reason is FailureReason.MODEL_NOT_FOUND
    with pytest.raises(ProviderError, match="offline/demo and offline/script"):
        Providers().get("offline").context_window("dmo")
    assert Providers().get("offline").context_window("demo") == 16_000


def configured(**settings: object) -> Providers:
    return Providers(ModelsSettings.model_validate(settings))


def test_a_key_alone_makes_a_provider_ready() -> None:
    provider = configured(providers={"anthropic": {"apiKey": "k-123"}}).get("anthropic")
    assert isinstance(provider, RemoteProvider)
    assert [endpoint.profile_id for endpoint in provider.endpoints] == ["default"]
    assert provider.context_window("claude-opus-4-6") == 200_000
    assert provider.api_of("claude-opus-4-6") == "anthropic-messages"


def test_without_a_key_a_call_says_which_variable_to_set() -> None:
    with pytest.raises(ProviderError, match="there is no key for openai") as refused:
        Providers().get("openai").stream(ModelRequest("gpt-4o", "", []), Cancel())
    assert refused.value.hint == "set OPENAI_API_KEY"
    assert refused.value.reason is FailureReason.AUTH_PERMANENT


def test_profiles_come_in_their_order_and_the_single_key_last() -> None:
    keys = [{"id": "work", "apiKey": "k-1"}, {"id": "home", "apiKey": "k-2"}]
    given = {"authProfiles": keys, "authOrder": ["home"], "apiKey": "k-3"}
    provider = configured(providers={"openai": given}).get("openai")
    assert isinstance(provider, RemoteProvider)
    assert [endpoint.profile_id for endpoint in provider.endpoints] == ["home", "work", "default"]
    assert "k-1" not in repr(provider.endpoints)


def test_a_local_server_needs_no_key_and_has_a_longer_timeout() -> None:
    provider = configured(providers={"local": {"baseUrl": "http://127.0.0.1:8000/v1"}}).get("local")
    assert isinstance(provider, RemoteProvider)
    endpoint = provider.endpoints[0]
    assert (endpoint.api_key, endpoint.idle_seconds) == (None, 300)
    assert provider.api_of("anything") == "openai-completions"


@pytest.mark.parametrize(
    ("model", "window", "api"),
    [
        ("gpt-4o", 128_000, "openai-completions"),
        ("gpt-4o-2024-11-20", 128_000, "openai-completions"),
        ("gpt-5-mini", 400_000, "openai-responses"),
        ("gpt-7.3-something", 400_000, "openai-responses"),
        ("unheard-of", 128_000, "openai-completions"),
    ],
)
def test_unlisted_models_are_assumed_by_date_or_family(model: str, window: int, api: str) -> None:
    provider = Providers().get("openai")
    assert (provider.context_window(model), provider.api_of(model)) == (window, api)


def test_configured_models_extend_or_replace_the_built_in_ones() -> None:
    mine = {"openai": {"models": [{"id": "gpt-4o", "contextWindow": 9000}, {"id": "own", "api": "openai-completions"}]}}
    merged = configured(providers=mine).catalog
    assert merged.model("openai", "gpt-4o").context_window == 9000
    assert merged.model("openai", "own").api == "openai-completions"
    assert merged.model("openai", "gpt-5").context_window == 400_000
    alone = configured(providers=mine, mode="replace").catalog
    assert [model.id for model in alone.models("openai")] == ["gpt-4o", "own"]
    with pytest.raises(ProviderError, match="there is no model openai/gpt-5; configured are gpt-4o, own"):
        alone.model("openai", "gpt-5")


def test_a_missing_price_is_unknown_not_zero() -> None:
    catalog = configured(providers={"local": {"baseUrl": "http://box/v1", "models": [{"id": "m"}]}}).catalog
    assert catalog.model("local", "m").cost is None
    cost = catalog.model("anthropic", "claude-opus-4-6").cost
    assert cost is not None
    assert (cost.input, cost.output) == (5, 25)


def test_configured_programs_make_a_provider() -> None:
    providers = configured(cli={"tool": {"command": ["tool"], "contextWindow": 5000}})
    assert "cli" in providers.names()
    assert providers.get("cli").context_window("tool") == 5000
    with pytest.raises(ProviderError, match="there is no program cli/other; configured are tool"):
        providers.get("cli").context_window("other")
