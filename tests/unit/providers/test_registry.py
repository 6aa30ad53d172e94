"""Models are named `provider/model`; a wrong name is told with the right ones."""

from __future__ import annotations

import pytest

from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.registry import get_provider, known_providers, split_model
from tests.unit.providers.talk import ask, user


def test_a_model_name_is_split_at_its_first_slash() -> None:
    assert split_model("offline/demo") == ("offline", "demo")
    assert split_model("offline/some/other") == ("offline", "some/other")


@pytest.mark.parametrize("name", ["", "demo", "/demo", "offline/"])
def test_half_a_name_is_refused(name: str) -> None:
    with pytest.raises(ProviderError, match="write it as in 'offline/demo'") as refused:
        split_model(name)
    assert refused.value.reason is FailureReason.MODEL_NOT_FOUND


def test_an_unknown_provider_is_told_with_the_known_ones() -> None:
    with pytest.raises(ProviderError, match="unknown provider 'ofline'; known are: offline") as refused:
        split_model("ofline/demo")
    assert refused.value.reason is FailureReason.MODEL_NOT_FOUND
    assert known_providers() == ["offline"]


def test_a_provider_is_built_once() -> None:
    assert get_provider("offline") is get_provider("offline")


def test_an_unknown_offline_model_is_told_with_the_two_there_are() -> None:
    with pytest.raises(ProviderError, match="offline/demo and offline/script") as refused:
        ask("dmo", user("hello"))
    assert refused.value.reason is FailureReason.MODEL_NOT_FOUND
    with pytest.raises(ProviderError, match="offline/demo and offline/script"):
        get_provider("offline").context_window("dmo")
    assert get_provider("offline").context_window("demo") == 16_000
