"""Which model answers, with whose key, and which configuration says so: for the banner of `ocw up`."""

from __future__ import annotations

import os
from dataclasses import dataclass

from openclaw_workers.config.host_secrets import ENV_FILE
from openclaw_workers.config.loader import Loaded
from openclaw_workers.config.model_names import has_key, profiles_of
from openclaw_workers.config.resolve import default_agent_id, default_model, resolve_agent

ENVIRONMENT = "environment "
"""Before the name of a variable in the origin of a setting."""


@dataclass(frozen=True, slots=True)
class AnsweringModel:
    model: str
    """Of the default agent, as provider/model."""
    key: str
    """Where its key is from; empty if it needs none."""
    configuration: str
    """The file, or the defaults."""

    @property
    def is_offline(self) -> bool:
        """Whether it is one of the built-in models, which need no key."""
        return self.model.startswith("offline/")


def answering_model(loaded: Loaded) -> AnsweringModel:
    settings = loaded.settings
    default = default_model(settings, os.environ)
    model = resolve_agent(settings, default_agent_id(settings), default_model=default).primary
    source = str(loaded.source) if loaded.source else "defaults"
    version = f", configuration {loaded.version.partition('-')[0]}" if loaded.version else ""
    return AnsweringModel(model, _key_of(loaded, model), f"{source}{version}")


def _key_of(loaded: Loaded, model: str) -> str:
    provider = model.partition("/")[0]
    if provider in ("offline", "cli"):
        return ""
    if not has_key(loaded.settings, model):
        return "missing"
    origin = loaded.origins.get(f"models.providers.{provider}.apiKey", "default")
    if origin.startswith(ENVIRONMENT):
        variable = origin.removeprefix(ENVIRONMENT)
        return variable if os.environ.get(variable) else f"{variable} in {loaded.state_dir / ENV_FILE}"
    if origin == "default":
        profiles = profiles_of(loaded.settings, provider)
        return f"profiles {', '.join(profiles)}" if profiles != ["default"] else ""
    return str(loaded.source) if origin == "file" else origin
