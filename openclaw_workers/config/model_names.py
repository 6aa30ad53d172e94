"""The names of the models that people can choose from."""

from __future__ import annotations

from openclaw_workers.config.model_catalog import Catalog
from openclaw_workers.config.models import ProviderSettings
from openclaw_workers.config.resolve import model_aliases, resolve_model
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.errors import BadInput, ProviderError

OFFLINE = ("demo", "script")


def usable_models(settings: Settings) -> list[str]:
    """The models that need no further setup: of providers with a key or baseUrl, CLI programs, and offline ones."""
    catalog, models = Catalog(settings.models), settings.models
    remote = [
        model.ref
        for name, given in sorted(models.providers.items())
        if given.api_key or given.auth_profiles or given.base_url
        for model in catalog.models(name)
    ]
    return [*remote, *(f"cli/{name}" for name in models.cli), *(f"offline/{name}" for name in OFFLINE)]


def display_names(settings: Settings) -> dict[str, str]:
    """The configured display names, by provider/model."""
    listed = ((name, model) for name, given in settings.models.providers.items() for model in given.models)
    return {f"{provider}/{model.id}": model.name for provider, model in listed if model.name}


def find_model(settings: Settings, name: str) -> str:
    """Return `provider/model` for a name or an alias. A provider may serve models that are not listed.

    Raises:
        BadInput: there cannot be such a model; the message lists the known ones.
    """
    full = resolve_model(settings, name)
    provider, slash, model = full.partition("/")
    catalog = Catalog(settings.models)
    complete = {"offline": OFFLINE, "cli": tuple(settings.models.cli)}
    if not (slash and model) or provider not in (*catalog.providers(), *complete):
        raise _unknown(settings, name)
    if provider in complete and model not in complete[provider]:
        raise _unknown(settings, name)
    if provider not in complete:
        try:
            catalog.model(provider, model)
        except ProviderError as error:
            raise BadInput(error.message, hint=error.hint) from error
    return full


def has_key(settings: Settings, model: str) -> bool:
    """Whether this configuration has a key or baseUrl for the model's provider; an agent may still have its own key."""
    provider = model.partition("/")[0]
    given = settings.models.providers.get(provider, ProviderSettings())
    return provider in ("offline", "cli") or bool(given.api_key or given.auth_profiles or given.base_url)


def split_profile(settings: Settings, name: str) -> tuple[str, str]:
    """A model and the key profile after its last @; "" if none is named. Some models have a date there instead."""
    model, at, profile = name.rpartition("@")
    # Vertex AI has names such as claude-opus-4@20250514.
    if not at or not model or profile.isdigit() or resolve_model(settings, name) in usable_models(settings):
        return name, ""
    return model, profile


def profiles_of(settings: Settings, provider: str) -> list[str]:
    """The key profiles of a provider that all agents share."""
    given = settings.models.providers.get(provider, ProviderSettings())
    named = [profile.id for profile in given.auth_profiles]
    single = bool(given.api_key) or (bool(given.base_url) and not named)
    return list(dict.fromkeys([*named, *(["default"] if single else [])]))


def find_profile(settings: Settings, name: str, agent_id: str) -> str:
    """Return `provider/profile` for a key profile; the provider may be left out if only one has such a profile.

    An agent's own profiles (`<agent>:<name>`) are known to its workers only, and not looked for here.

    Raises:
        BadInput: there is no such profile, or several providers have one.
    """
    provider, slash, profile = name.partition("/")
    providers = Catalog(settings.models).providers()
    if not slash:
        serving = [each for each in providers if name in profiles_of(settings, each)]
        if len(serving) == 1:
            return f"{serving[0]}/{name}"
        provider, profile = ", ".join(serving), name
    elif profile in profiles_of(settings, provider) or (provider in providers and profile.startswith(f"{agent_id}:")):
        return name
    known = [f"{each}/{profile}" for each in providers for profile in profiles_of(settings, each)]
    several = f" ({provider} have it)" if not slash and provider else ""
    expected = f"expected provider/profile: {', '.join(known) or 'none is configured'}"
    raise BadInput(f"no key profile {profile!r}{several}; {expected}", hint="`ocw models status` lists them")


def _unknown(settings: Settings, name: str) -> BadInput:
    known = [*model_aliases(settings), *usable_models(settings)]
    guess = did_you_mean(name, known)
    suffix = f" ({guess})" if guess else ""
    return BadInput(f"{name!r} is not a model; expected provider/model or an alias: {', '.join(known)}{suffix}")
