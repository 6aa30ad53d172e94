"""What is loaded before the first call: all of the SDK that the call needs."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

from openclaw_workers.config.configured_models import configured_apis, configured_models
from openclaw_workers.config.models import Api, ModelsSettings
from openclaw_workers.config.settings import Settings
from openclaw_workers.providers.registry import Providers
from tests.component.providers.wire_conversation import APIS

# In a process of its own: this one has loaded everything long ago.
CALL: Final = """
import sys
from openclaw_workers.providers.registry import Providers
from tests.support.wire import WireServer, Reply, Called
from tests.component.providers.wire_conversation import Wire

with WireServer(Reply("well", thinking="hm", calls=[Called("read", {})])) as server:
    line = Wire(server, sys.argv[1])
    line.provider.warm_up("m")
    loaded = set(sys.modules)
    line.ask(thinking="high")
    print(*[name for name in set(sys.modules) - loaded if name.split(".")[0] in ("openai", "anthropic", "pydantic")])
"""


@pytest.mark.parametrize("api", APIS)
def test_the_first_call_after_it_loads_nothing(api: Api) -> None:
    ran = subprocess.run([sys.executable, "-c", CALL, api], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == []


def test_a_model_that_cannot_be_loaded_keeps_no_other_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    warmed: list[str] = []
    providers = Providers(ModelsSettings())
    monkeypatch.setattr(providers.get("offline"), "warm_up", warmed.append)
    providers.warm_up(["nobody/m", "no-slash", "offline/demo"])
    assert warmed == ["demo"]


def test_the_models_of_agents_and_sub_agents_and_those_with_names_are_configured() -> None:
    settings = Settings.model_validate(
        {
            "models": {"aliases": {"cheap": "openai/small"}},
            "agents": {
                "defaults": {
                    "model": {"primary": "anthropic/a", "fallbacks": ["cheap"]},
                    "subagents": {"model": "openai/sub"},
                    "models": {"anthropic/listed": {"alias": "l"}},
                },
                "list": [{"id": "main"}, {"id": "other", "model": "openai/other"}],
            },
        }
    )
    expected = ["anthropic/a", "openai/small", "openai/sub", "openai/other", "anthropic/listed"]
    assert sorted(configured_models(settings, "offline/demo")) == sorted(expected)


def test_the_apis_of_configured_models_are_those_whose_sdks_are_loaded_before_a_fork() -> None:
    given = {
        "models": {
            "providers": {"wired": {"baseUrl": "http://127.0.0.1:9/v1", "api": "openai-responses", "apiKey": "k"}}
        },
        "agents": {"defaults": {"model": {"primary": "anthropic/claude-sonnet-4-5", "fallbacks": ["wired/m"]}}},
    }

    assert configured_apis(Settings.model_validate(given), "offline/demo") == ("anthropic-messages", "openai-responses")
    assert configured_apis(Settings(), "offline/demo") == ()
