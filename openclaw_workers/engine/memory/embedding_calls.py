"""Calls of embedding endpoints: keys, cooldowns, limits, budgets and the ledger, as for models that answer."""

from __future__ import annotations

import threading
import time
from itertools import count

import structlog

from openclaw_workers.agent.model.candidates import Candidate
from openclaw_workers.cancel import Cancel
from openclaw_workers.clock import now_ms
from openclaw_workers.config.model_catalog import ModelInfo
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.domain.ids import RunId, new_token
from openclaw_workers.domain.ledger import ModelCall
from openclaw_workers.domain.runs import lane_of
from openclaw_workers.domain.session_key import main_key
from openclaw_workers.domain.transcript import Usage
from openclaw_workers.engine.llm.failover import ModelChain
from openclaw_workers.engine.llm.selection import Models
from openclaw_workers.engine.memory.slugs import RecordCalls
from openclaw_workers.errors import OpenClawError, ProviderError, StoreUnavailable, TurnTimedOut
from openclaw_workers.memory.embedders.base import EmbedderUnavailable
from openclaw_workers.memory.embedders.endpoint import Ask, Embedded, EndpointAccess
from openclaw_workers.providers.base import ModelRequest
from openclaw_workers.providers.call import Call
from openclaw_workers.providers.endpoint import Endpoint
from openclaw_workers.providers.http.failures import to_provider_error
from openclaw_workers.store.llm.ledger_entries import LedgerEntries
from openclaw_workers.store.turn_records import Lease

log = structlog.get_logger(__name__)

OPENAI_URL = "https://api.openai.com/v1"
QUERY_TOKENS = 400
"""Smaller calls are those of a search: somebody waits for it, and words alone are better than a long wait."""
QUERY_SECONDS, INDEXING_SECONDS = 8.0, 120.0
INDEXING_PAUSE_SECONDS = 30.0


class EmbeddingCalls:
    def __init__(self, models: Models, record: RecordCalls) -> None:
        self._models = models
        self._record = record

    def call(self, agent: AgentConfig, provider: str, model: str, tokens: int, ask: Ask) -> Embedded:
        """Ask with the agent's keys, one after the other.

        Raises:
            EmbedderUnavailable: none works now, or the limits or budgets do not allow it in time.
        """
        run, cancel = RunId(f"memory-embed-{new_token()}"), Cancel()
        is_query = tokens <= QUERY_TOKENS
        seconds = QUERY_SECONDS if is_query else INDEXING_SECONDS
        pause = 0.0 if is_query else INDEXING_PAUSE_SECONDS
        is_over = threading.Event()
        threading.Thread(target=_cancel_late, args=(is_over, cancel, seconds), daemon=True, name="ocw-embed").start()
        try:
            chain = self._models.embedding_chain(agent, provider, model, run, cancel, longest_pause_seconds=pause)
            candidate, call_id, answer = _ask_keys(chain, run, tokens, ask)
        except OpenClawError as error:
            raise EmbedderUnavailable(f"{provider}/{model} did not embed: {error.message}") from error
        finally:
            is_over.set()
        self._book(agent, candidate, run, call_id, answer.tokens)
        return answer

    def _book(self, agent: AgentConfig, candidate: Candidate, run: RunId, call_id: str, tokens: int) -> None:
        session, usage = main_key(agent.id), Usage(input=tokens)
        provider, model = candidate.provider.name, candidate.model
        cost = self._models.price(provider, model, usage)
        call = ModelCall(
            id=call_id,
            at=now_ms(),
            run=run,
            session=session,
            agent=agent.id,
            tree=session,
            provider=provider,
            model=model,
            usage=usage,
            cost=cost or 0.0,
            is_priced=cost is not None,
        )
        budgets = [budget.name for budget in self._models.budgets(agent, session)]
        try:
            # No turn holds this lease. The ledger needs only the session and the run.
            self._record(Lease(session, run, lane_of(session), "0:"), LedgerEntries((call,), budgets))
        except StoreUnavailable as error:
            log.warning("memory.embedding_not_recorded", error=error.message, tokens=tokens)


def _ask_keys(chain: ModelChain, run: RunId, tokens: int, ask: Ask) -> tuple[Candidate, str, Embedded]:
    """The first answer, with the key that gave it and the id of the call.

    Raises:
        ProviderError: no key is left.
        TurnEnded: the time is over, or a budget is used up.
        EmbedderUnavailable: the answer is not what was asked for.
    """
    for number in count(1):
        call_id = f"{run}:0:{number}"
        candidate = chain.choose(call_id, lambda _: tokens, lambda _: None)
        began = time.monotonic()
        try:
            answer = ask(_access(candidate.endpoint))
        except EmbedderUnavailable:
            # The key works; the answer has another form than expected.
            chain.left(candidate)
            raise
        except Exception as error:  # noqa: BLE001 - of the SDK, which is loaded only where it is used
            chain.failed(candidate, _failure(error, candidate), time.monotonic() - began)
        else:
            chain.succeeded(candidate, time.monotonic() - began)
            return candidate, call_id, answer
    raise AssertionError("counting ended")


def _cancel_late(is_over: threading.Event, cancel: Cancel, seconds: float) -> None:
    if not is_over.wait(seconds):
        cancel.set(TurnTimedOut(f"no key was free within {seconds:.0f} s"))


def _access(endpoint: Endpoint | None) -> EndpointAccess:
    if endpoint is None:
        return EndpointAccess(OPENAI_URL, "none")
    key = endpoint.api_key.get_secret_value() if endpoint.api_key else "none"
    return EndpointAccess(endpoint.base_url or OPENAI_URL, key, tuple(endpoint.plain_headers().items()))


def _failure(error: Exception, candidate: Candidate) -> ProviderError:
    model = ModelInfo(candidate.provider.name, candidate.model, "openai-completions", context_window=1, max_tokens=1)
    request = ModelRequest(candidate.model, "", [])
    return to_provider_error(error, Call(request, model, candidate.endpoint or Endpoint(candidate.provider.name)))
