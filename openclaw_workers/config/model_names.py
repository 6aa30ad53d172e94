"""The models that people may choose from, by name."""

from __future__ import annotations

from openclaw_workers.config.model_catalog import Catalog
from openclaw_workers.config.models import ProviderSettings
from openclaw_workers.config.resolve import model_aliases, resolve_model
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.suggest import did_you_mean
from openclaw_workers.errors import BadInput, ProviderError

OFFLINE = ("demo", "script")


def usable_models(settings: Settings) -> list[str]:
    """Those that need nothing more: of providers with a key or an address, installed programs, and the offline ones."""
    catalog, models = Catalog(settings.models), settings.models
    remote = [
        model.ref
        for name, given in sorted(models.providers.items())
        if given.api_key or given.auth_profiles or given.base_url
        for model in catalog.models(name)
    ]
    return [*remote, *(f"cli/{name}" for name in models.cli), *(f"offline/{name}" for name in OFFLINE)]


def shown_names(settings: Settings) -> dict[str, str]:
    """What people call models, where the configuration says so, by provider/model."""
    listed = ((name, model) for name, given in settings.models.providers.items() for model in given.models)
    return {f"{provider}/{model.id}": model.name for provider, model in listed if model.name}


def named_model(settings: Settings, name: str) -> str:
    """`provider/model` for a name or an alias. A provider may serve models that are not listed.

    Raises:
        BadInput: it cannot be one; says which there are.
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
    """Whether this configuration has what the model's provider needs; an agent may still have a key of its own."""
    provider = model.partition("/")[0]
    given = settings.models.providers.get(provider, ProviderSettings())
    return provider in ("offline", "cli") or bool(given.api_key or given.auth_profiles or given.base_url)


def _unknown(settings: Settings, name: str) -> BadInput:
    known = [*model_aliases(settings), *usable_models(settings)]
    guess = did_you_mean(name, known)
    suffix = f" ({guess})" if guess else ""
    return BadInput(f"{name!r} is no model; expected provider/model or an alias: {', '.join(known)}{suffix}")
