"""Model providers, their keys, and model names."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, StrictBool, StrictFloat, StrictInt, model_validator

from openclaw_workers.config.base import BaseUrl, Bytes, FullModelRef, ModelRef, Secret, Section
from openclaw_workers.config.budgets import LimitSettings

Api = Literal["anthropic-messages", "openai-completions", "openai-responses"]


class ModelChoice(Section):
    primary: ModelRef | None = None
    """provider/model or an alias; unset: a model of a provider with a key or a baseUrl, else offline/demo."""

    fallbacks: tuple[ModelRef, ...] | None = None
    """Models to try in order if the primary fails; [] means none, unset inherits."""


ModelChoiceField = Annotated[
    ModelChoice,
    BeforeValidator(
        lambda value: {"primary": value} if isinstance(value, str) else value,
        json_schema_input_type=str | ModelChoice,
    ),
]


class ListedModel(Section):
    alias: str | None = None
    """Short name for this model."""


class CostSettings(Section):
    input: StrictFloat = Field(default=0.0, ge=0)
    """Dollars per million input tokens."""

    output: StrictFloat = Field(default=0.0, ge=0)
    """Dollars per million output tokens."""

    cache_read: StrictFloat = Field(default=0.0, ge=0)
    """Dollars per million tokens read from the prompt cache."""

    cache_write: StrictFloat = Field(default=0.0, ge=0)
    """Dollars per million tokens written to the prompt cache."""


class ProviderModelSettings(Section):
    id: str
    """The provider's own name for the model."""

    name: str | None = None
    """Name shown beside the id in lists of models."""

    api: Api | None = None
    """API of this model, if it differs from the provider's."""

    reasoning: StrictBool = False
    """Whether the model accepts a thinking level."""

    input: tuple[Literal["text", "image", "file"], ...] = ("text",)
    """Input the model accepts; file means PDFs."""

    cost: CostSettings = CostSettings.model_construct()
    """Prices, for the ledger and for budgets."""

    context_window: StrictInt = Field(default=200_000, ge=1)
    """Size of the context window in tokens."""

    max_tokens: StrictInt = Field(default=8192, ge=1)
    """Maximum number of output tokens."""

    headers: dict[str, Secret] = Field(default_factory=dict)
    """Extra HTTP headers for this model."""

    limits: LimitSettings = LimitSettings.model_construct()
    """Rate limits of the whole fleet for this model."""


class AuthProfileSettings(Section):
    id: str
    """Name of the key, for authOrder and reports."""

    api_key: Secret
    """The key itself; write ${VARIABLE} to keep it out of the file."""

    limits: LimitSettings = LimitSettings.model_construct()
    """Rate limits of the whole fleet for this key."""


class ProviderSettings(Section):
    base_url: BaseUrl | None = None
    """URL of the API; optional only for anthropic and openai."""

    api: Api | None = None
    """Which API it serves; unset: the provider's own."""

    api_key: Secret | None = None
    """API key; ANTHROPIC_API_KEY and OPENAI_API_KEY set it for those two."""

    headers: dict[str, Secret] = Field(default_factory=dict)
    """Extra HTTP headers."""

    limits: LimitSettings = LimitSettings.model_construct()
    """Rate limits of the whole fleet for this provider; a call over the limit waits."""

    auth_profiles: tuple[AuthProfileSettings, ...] = ()
    """Several keys; if one is rate limited or rejected, the next one is used."""

    auth_order: tuple[str, ...] = ()
    """Order of the profiles, by id; the others are used in rotation after them."""

    models: tuple[ProviderModelSettings, ...] = ()
    """Models of this provider that are not built in."""

    @model_validator(mode="after")
    def _profiles_agree(self) -> Self:
        ids = [profile.id for profile in self.auth_profiles]
        if twice := sorted({name for name in ids if ids.count(name) > 1}):
            raise ValueError(f"expected unique authProfiles ids, but {', '.join(twice)} is repeated")
        if unknown := [name for name in self.auth_order if name not in ids]:
            raise ValueError(
                f"expected authOrder to name authProfiles ({', '.join(ids) or 'none are given'}), "
                f"not {', '.join(unknown)}"
            )
        return self


class CliAgentSettings(Section):
    command: tuple[str, ...] = Field(min_length=1)
    """Program and arguments; {prompt}, {system}, {model} and {session} are filled in."""

    resume_args: tuple[str, ...] = ()
    """Extra arguments to resume an earlier session, such as --resume {session}; empty: it cannot resume."""

    input: Literal["stdin", "argument"] = "stdin"
    """How the program gets the prompt: on standard input, or in place of {prompt} in command, up to 128 KiB."""

    output: Literal["text", "jsonl"] = "text"
    """Output format: the plain answer, or a JSON object on each line."""

    text_field: str = "text"
    """In jsonl, the field with a piece of the answer; dots address nested objects, as in message.text."""

    session_field: str = "session_id"
    """In jsonl, the field with the program's own session id."""

    env: dict[str, Secret] = Field(default_factory=dict)
    """Environment variables for the program, such as its key; it does not inherit the worker's secrets."""

    timeout_seconds: StrictInt = Field(default=600, ge=1)
    """Seconds that one answer may take."""

    max_output_bytes: Bytes = Field(default=4 << 20, ge=1)
    """The program is killed after this much output."""

    context_window: StrictInt = Field(default=200_000, ge=1)
    """Tokens of conversation sent to the program."""

    @model_validator(mode="after")
    def _prompt_goes_in(self) -> Self:
        if self.input == "argument" and not any("{prompt}" in part for part in self.command):
            raise ValueError("expected {prompt} in command, because input is argument")
        return self


class ModelsSettings(Section):
    mode: Literal["merge", "replace"] = "merge"
    """Whether the configured models are added to the built-in ones or replace them."""

    providers: dict[str, ProviderSettings] = Field(default_factory=dict)
    """Providers by the name used before the slash in provider/model."""

    cli: dict[str, CliAgentSettings] = Field(default_factory=dict)
    """Installed programs used as models, each as cli/<name>."""

    cooldown_scope: Literal["profile", "model"] = "profile"
    """What a failure puts into cooldown for the fleet: the key with all its models, or one model with that key."""

    aliases: dict[str, FullModelRef] = Field(default_factory=dict)
    """Short names for models: alias to provider/model."""
