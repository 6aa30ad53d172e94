"""The configured models as a turn uses them: candidates, keys, rate limits, budgets and prices."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from pathlib import Path

from openclaw_workers.agent.model.candidates import Candidate
from openclaw_workers.cancel import Cancel
from openclaw_workers.config.base import Section
from openclaw_workers.config.budgets import BudgetSettings, LimitSettings
from openclaw_workers.config.models import ProviderSettings
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.config.settings import Settings
from openclaw_workers.domain.ids import RunId, SessionKey
from openclaw_workers.domain.messages import Authority
from openclaw_workers.domain.runs import ModelAttempt
from openclaw_workers.domain.session_key import main_key
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.engine.llm.admission import Admission
from openclaw_workers.engine.llm.auth_profiles import endpoints_for
from openclaw_workers.engine.llm.call_log import CallLog
from openclaw_workers.engine.llm.failover import ModelChain, Refused
from openclaw_workers.engine.llm.keyring import Keyring, Option
from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.missing import MissingProvider
from openclaw_workers.providers.registry import Providers
from openclaw_workers.providers.remote import RemoteProvider
from openclaw_workers.store.llm.cooldowns import Cooldowns
from openclaw_workers.store.llm.rate_limits import Amounts, Budget, Limit, RateLimits

RESERVED_SECONDS = 60
"""What a call reserves of a budget's time when it begins; time beyond that counts while the call lasts."""
PER_MILLION = 1_000_000
MOST_AGENTS = 1024
_NOTHING_GIVEN, _UNLIMITED = ProviderSettings(), LimitSettings()


class Models:
    def __init__(self, settings: Settings, state_dir: Path, cooldowns: Cooldowns, limits: RateLimits) -> None:
        self._settings = settings
        self._state_dir = state_dir
        self.providers = Providers(settings.models)
        self._cooldowns = cooldowns
        self._limits = limits
        given = settings.budgets
        self._has_budgets = _check_not_blank(given.day) or _check_not_blank(given.tree)
        self._options: dict[int, tuple[int, AgentConfig, list[Option]]] = {}
        """The options of an agent, and the second they were built in: a file with its keys may change."""

    def first(self, agent: AgentConfig) -> Candidate:
        """The first of the agent's models that is there.

        Raises:
            ProviderError: none is; it tells of the one that was asked for.
        """
        missing: ProviderError | None = None
        for name in _names(agent):
            try:
                return self._found(name)
            except ProviderError as error:
                missing = missing or error
        assert missing is not None
        raise missing

    def chain(
        self,
        agent: AgentConfig,
        run: RunId,
        tree: SessionKey,
        row: Mapping[str, str],
        cancel: Cancel,
        *,
        authority: Authority = Authority.OWNER,
        seconds_left: Callable[[], float] = lambda: inf,
        on_skip: Callable[[ModelAttempt], None] = lambda _: None,
        on_wait: Callable[[str], None] = lambda _: None,
    ) -> ModelChain:
        """The agent's models for one turn. The keywords are for a turn that calls them; see ModelChain and Admission.

        `authority` is that of who asked for the turn. Programs have tools of their own, so only owners may use them.

        Raises:
            ProviderError: none of them is there.
            BadInput: the agent's keys cannot be read.
        """
        budgets = self.budgets(agent, tree)
        guard = Admission(self._limits, run, budgets, self._limits_of, self._reservation, on_wait=on_wait)
        pin = row.get("authProfilePin", "")
        options = [_pinned(option, pin) for option in self._options_of(agent)] if pin else self._options_of(agent)
        counts_dollars = any(budget.cost is not None for budget in budgets)
        return ModelChain(
            options=options,
            refused=_absent(options)
            | _without_pinned_key(options, pin)
            | (_unpriced(options) if counts_dollars else {})
            | ({} if authority.covers(Authority.OWNER) else _with_own_tools(options)),
            keyring=Keyring(self._cooldowns, self._settings.models.cooldown_scope, row.get("authProfileOverride", "")),
            guard=guard,
            cancel=cancel,
            on_skip=on_skip,
            seconds_left=seconds_left,
        )

    def embedding_chain(
        self, agent: AgentConfig, provider: str, model: str, run: RunId, cancel: Cancel, *, longest_pause_seconds: float
    ) -> ModelChain:
        """A model that embeds texts, with the keys, cooldowns, limits and budgets that all models have.

        Raises:
            ProviderError: there is no such provider.
            BadInput: the agent's keys cannot be read.
        """
        found = self.providers.get(provider)
        option = Option(found, model, endpoints_for(agent, found, self._given(provider), self._state_dir))
        budgets = self.budgets(agent, main_key(agent.id))
        return ModelChain(
            options=[option],
            keyring=Keyring(self._cooldowns, self._settings.models.cooldown_scope),
            guard=Admission(self._limits, run, budgets, self._limits_of, self._embedding_reservation),
            cancel=cancel,
            longest_pause_seconds=longest_pause_seconds,
        )

    def call_log(self, run: RunId, session: SessionKey, agent: AgentConfig, tree: SessionKey) -> CallLog:
        """An empty log of a turn's model calls."""
        budgets = [budget.name for budget in self.budgets(agent, tree)]
        return CallLog(run, session, agent.id, tree, self.price, budgets)

    def budgets(self, agent: AgentConfig, tree: SessionKey) -> list[Budget]:
        given = self._settings.budgets
        if not self._has_budgets and not _check_not_blank(agent.budget):
            return []
        named = {"day": given.day, f"agent {agent.id}": agent.budget, f"tree {tree}": given.tree}
        limited = {name: settings for name, settings in named.items() if _check_not_blank(settings)}
        day = datetime.now(UTC).strftime("%Y-%m-%d")
        return [_budget(f"{name} {day}", settings) for name, settings in limited.items()]

    def price(self, provider: str, model: str, usage: Usage) -> float | None:
        """Dollars; None where the price is not known. Models that run here cost nothing."""
        found = self.providers.get(provider)
        if not isinstance(found, RemoteProvider):
            return 0.0
        cost = found.model(model).cost
        if cost is None:
            return None
        dollars = usage.input * cost.input + usage.output * cost.output
        return (dollars + usage.cache_read * cost.cache_read + usage.cache_write * cost.cache_write) / PER_MILLION

    def _options_of(self, agent: AgentConfig) -> list[Option]:
        second = int(time.monotonic())
        known = self._options.get(id(agent))
        if known and known[0] == second and known[1] is agent:
            return known[2]
        if len(self._options) > MOST_AGENTS:
            self._options = {}
        options = self._build_options(agent)
        self._options[id(agent)] = second, agent, options
        return options

    def _build_options(self, agent: AgentConfig) -> list[Option]:
        self.first(agent)
        return [self._option(agent, name) for name in _names(agent)]

    def _option(self, agent: AgentConfig, name: str) -> Option:
        try:
            found = self._found(name)
        except ProviderError as error:
            # One wrong name must not make the other models unusable.
            provider_name, _, model = name.partition("/")
            return Option(MissingProvider(provider_name, error), model, ())
        given = self._given(found.provider.name)
        return Option(found.provider, found.model, endpoints_for(agent, found.provider, given, self._state_dir))

    def _found(self, name: str) -> Candidate:
        provider_name, model = self.providers.split(name)
        provider = self.providers.get(provider_name)
        provider.context_window(model)
        return Candidate(provider, model)

    def _given(self, provider: str) -> ProviderSettings:
        return self._settings.models.providers.get(provider, _NOTHING_GIVEN)

    def _limits_of(self, candidate: Candidate) -> Sequence[Limit]:
        provider, given = candidate.provider.name, self._given(candidate.provider.name)
        own = candidate.endpoint.limits if candidate.endpoint else _UNLIMITED
        if given is _NOTHING_GIVEN and not _check_not_blank(own):
            return ()
        model = next((each for each in given.models if each.id == candidate.model), None)
        named = {
            provider: given.limits,
            f"{provider}/{candidate.profile}": own,
            f"{provider}//{candidate.model}": model.limits if model else _UNLIMITED,
        }
        return [_limit(name, settings) for name, settings in named.items() if _check_not_blank(settings)]

    def _reservation(self, candidate: Candidate, tokens: int) -> Amounts:
        """The most that a call can take: with smaller reservations, parallel calls would spend more than is left."""
        provider = candidate.provider
        most = provider.max_output_tokens(candidate.model)
        # What a provider writes into its cache may cost more than what it only reads.
        possible = Usage(input=tokens, output=most), Usage(cache_write=tokens, output=most)
        cost = max(self.price(provider.name, candidate.model, usage) or 0.0 for usage in possible)
        return Amounts(tokens=tokens + most, cost=cost, calls=1, seconds=RESERVED_SECONDS)

    def _embedding_reservation(self, candidate: Candidate, tokens: int) -> Amounts:
        cost = self.price(candidate.provider.name, candidate.model, Usage(input=tokens)) or 0.0
        return Amounts(tokens=tokens, cost=cost, calls=1, seconds=RESERVED_SECONDS)


def _names(agent: AgentConfig) -> list[str]:
    return list(dict.fromkeys([agent.primary, *agent.fallbacks]))


def _absent(options: Sequence[Option]) -> dict[str, Refused]:
    """The models that are not there, and why."""
    named = ((each.name, each.provider) for each in options)
    return {name: (found.why.reason, found.why.message) for name, found in named if isinstance(found, MissingProvider)}


def _pinned(option: Option, pin: str) -> Option:
    """The same model with the pinned key alone; unchanged if that key is not one of its own."""
    mine = next((each for each in option.endpoints if each and pin == f"{each.provider}/{each.profile_id}"), None)
    return replace(option, groups=[[mine]]) if mine else option


def _without_pinned_key(options: Sequence[Option], pin: str) -> dict[str, Refused]:
    """Models of the provider whose key is pinned, if that key is not there: no other one may be used instead."""
    why = f"this session is pinned to the key {pin}, which is not configured; `/model NAME` ends the pin"
    pinned = [each for each in options if pin and each.provider.name == pin.partition("/")[0]]
    missing = [
        each for each in pinned if not any(key and f"{key.provider}/{key.profile_id}" == pin for key in each.endpoints)
    ]
    return {each.name: (FailureReason.AUTH, why) for each in missing}


def _with_own_tools(options: Sequence[Option]) -> dict[str, Refused]:
    """Programs that act as models: nothing here limits what they do."""
    why = "it is a program with tools of its own, and only owners may use it; configure another model as a fallback"
    return {each.name: (FailureReason.AUTH, why) for each in options if not each.provider.can_call_tools}


def _unpriced(options: Sequence[Option]) -> dict[str, Refused]:
    """Models whose price is unknown, so that a budget in dollars could not limit them; and what to do."""
    why = "its price is not known, and a budget in dollars is set: give models.providers.{}.models[].cost for {}"
    remote = ((each, each.provider) for each in options)
    return {
        each.name: (FailureReason.PRICE_UNKNOWN, why.format(provider.name, each.model))
        for each, provider in remote
        if isinstance(provider, RemoteProvider) and provider.model(each.model).cost is None
    }


def _check_not_blank(given: Section) -> bool:
    return any(value is not None for value in given.__dict__.values())


def _budget(name: str, given: BudgetSettings) -> Budget:
    return Budget(name, given.tokens, given.cost, given.calls, given.seconds)


def _limit(name: str, given: LimitSettings) -> Limit:
    return Limit(name, given.requests_per_minute or 0, given.tokens_per_minute or 0, given.concurrent or 0)
