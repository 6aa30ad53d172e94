"""Classify failed calls: turn status, code, message and exception into a ProviderError with one reason.

The same rules hold for both SDKs and for compatible servers. Exceptions are recognised by their class names, so that
neither SDK must be loaded because of the other.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from socket import gaierror
from typing import Any, Final

from openclaw_workers.errors import FailureReason, ProviderError
from openclaw_workers.providers.call import Call

# Gateways answer with whole HTML pages, and this text reaches chats and run records.
_SHOWN_CHARS: Final = 500
_OTHER_MODEL: Final = "name one that is served there, by /model {0}/... or in agents.defaults.model"
"""We do not ask a server which models it has, and the default one may be missing there."""


def _any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


_OVERFLOW = _any(
    r"context.{0,3}length.{0,20}exceed",
    r"maximum context length",
    r"prompt is too long",
    r"input is too long",
    r"input length and `?max_tokens`? exceed",
    r"exceeds? .{0,40}context (window|length|size|limit)",
    r"context window.{0,20}exceed",
    r"(prompt|input|request).{0,40}too large for .{0,20}(model|context)",
    r"exceeds? the (model.s )?(maximum )?(input )?token limit",
    r"request_too_large|request too large for model context",
    r"reduce the length of the (messages|prompt|input)",
    r"上下文.{0,6}(超|过长)|超出.{0,8}(上下文|最大长度)",
)
_PER_MINUTE = _any(r"per[ -]minute", r"\btpm\b", r"\brpm\b", r"rate.?limit")
_BILLING = _any(
    r"credit balance",
    r"insufficient.{0,3}(balance|funds|quota)",
    r"insufficient.*credit",
    r"exceeded your current quota",
    r"billing.{0,3}(hard.?limit|error|not active|details)",
    r"payment required",
    r"spend(ing)?.{0,3}limit",
    r"out of (credits|extra usage)",
)
_LIMITED = _any(
    r"overloaded", r"too many requests", r"rate.?limit", r"slow_down", r"ramp_limit", r"resource.?exhausted"
)
_REVOKED = _any(
    r"\b(revoked|disabled|deactivated|suspended|deleted)\b",
    r"invalid_api_key",
    r"organi[sz]ation.{0,12}on.?hold",
)
_NOT_ALLOWED = _any(r"authentication_error", r"permission_error", r"invalid.*api.*key")
_NOT_THIS_MODEL = _any(r"model_not_found", r"access to (the )?model\b")
"""The key is valid but not allowed to use this model."""
_NO_SESSION = _any(
    r"session_expired",
    r"(session|conversation).{0,40}(expired|not found|does not exist|no longer)",
    r"(expired|unknown|invalid|no such) (session|conversation)",
)
_NO_MODEL = _any(
    r"model_not_found",
    # If a thinking level is missing and not the model, a lower level is tried.
    r"model((?!reasoning|thinking|effort).){0,60}(does not exist|not found|is not available|no longer available)",
    r"(unknown|invalid|no such) model",
)
_LATE = _any(
    r"timed? ?out",
    r"timeout_error",
    r"deadline exceeded",
    r"server_error|bad gateway|service unavailable",
    r"internal.?server.?error|server had an error",
)

_CONNECTION_REFUSED = _any(r"connection refused", r"actively refused")
_HOST_NOT_FOUND = _any(
    r"name or service not known",
    r"nodename nor servname",
    r"name resolution",
    r"no address associated with hostname",
    r"getaddrinfo failed",
)
_SAID = re.compile(r"(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)? ?[a-z]+ ?)+)", re.IGNORECASE)
"""As in `try again in 1m26.4s` or `retry after 20 seconds`."""
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?) ?([a-z]+)", re.IGNORECASE)
_UNITS: Final = {
    **dict.fromkeys(("ms", "milliseconds"), 0.001),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
}
# A longer or negative wait comes from a wrong clock or a misread unit, so it is ignored.
_LONGEST_WISH: Final = 86_400.0 * 7

_NETWORK: Final = {"APIConnectionError", "APITimeoutError", "TransportError", "OSError"}


@dataclass(frozen=True, slots=True)
class _Rule:
    reason: FailureReason
    always: frozenset[int]
    """Statuses that mean this whatever the text says."""
    when: frozenset[int | None]
    """Statuses that mean this if the text matches `words`; None is an error within a stream."""
    words: re.Pattern[str]


def _rule(
    reason: FailureReason, always: Iterable[int] = (), *, when: Iterable[int | None] = (), words: re.Pattern[str]
) -> _Rule:
    return _Rule(reason, frozenset(always), frozenset(when), words)


_RULES: Final = (
    # First, because it is the only one that compaction cures; some servers report it with a status of 500.
    _rule(FailureReason.CONTEXT_OVERFLOW, {413}, when={None, 400, 422, 500}, words=_OVERFLOW),
    # Before rate limits: an empty account is also reported as 429, but waiting does not refill it.
    _rule(FailureReason.BILLING, {402}, when={None, 400, 403, 429}, words=_BILLING),
    _rule(FailureReason.RATE_LIMIT, {429, 529}, when={None, 500}, words=_LIMITED),
    _rule(FailureReason.MODEL_NOT_FOUND, when={403}, words=_NOT_THIS_MODEL),
    _rule(FailureReason.AUTH_PERMANENT, when={401, 403}, words=_REVOKED),
    _rule(FailureReason.AUTH_PERMANENT, when={None, 400}, words=_any(r"invalid_api_key", r"api.?key not valid")),
    _rule(FailureReason.AUTH, {401, 403}, when={None}, words=_NOT_ALLOWED),
    _rule(FailureReason.SESSION_EXPIRED, when={None, 400, 404, 410}, words=_NO_SESSION),
    _rule(FailureReason.MODEL_NOT_FOUND, {404}, when={None, 400}, words=_NO_MODEL),
    _rule(FailureReason.TIMEOUT, {408, 499, 502, 503, 504, *range(520, 525)}, when={None, 500}, words=_LATE),
    _rule(FailureReason.FORMAT, {400, 422}, when={None}, words=_any(r"invalid_request_error", r"invalid_prompt")),
)
"""The first rule that matches wins."""


def reason_for(status: int | None, text: str) -> FailureReason:
    """The reason for an HTTP status (None or 200 in the middle of a stream) and the code and message with it."""
    failed = status if status and status >= 400 else None
    for rule in _RULES:
        if failed in rule.always or (failed in rule.when and rule.words.search(text)):
            # "Request too large ... tokens per minute" names a rate limit. Compaction would not help; waiting does.
            if rule.reason is FailureReason.CONTEXT_OVERFLOW and _PER_MINUTE.search(text):
                continue
            return rule.reason
    return FailureReason.UNKNOWN


def to_provider_error(error: Exception, call: Call, *, begun: bool = False) -> ProviderError:
    """Turn an SDK's exception into a ProviderError. `begun`: whether part of the answer had arrived."""
    response = getattr(error, "response", None)
    headers: Mapping[str, str] = getattr(response, "headers", {})
    facts = _facts(error)
    names = {each.__name__ for each in type(error).__mro__}
    broken = facts.status is None and bool(names & _NETWORK)
    code = facts.code
    if broken and any("Timeout" in name for name in names):
        reason, message = FailureReason.TIMEOUT, "no answer came in time"
    elif begun and facts.status is None and (broken or "ValueError" in names):
        reason, message = FailureReason.CUT, "the connection broke in the middle of the answer"
    elif broken:
        to, root = f" to {call.endpoint.host}" if call.endpoint.host else "", _root(error)
        code = code or _connection_failure(root)
        # A server that cannot be reached is handled like one that does not answer: another endpoint may work.
        reason, message = FailureReason.TIMEOUT, f"no connection{to}: {_shown(root)}"
    else:
        reason, message = reason_for(facts.failed_with, f"{facts.code} {facts.message}"), facts.message
    request_id = getattr(error, "request_id", None) or headers.get("x-request-id") or headers.get("request-id")
    return ProviderError(
        # Scrubbed before it is cut: half a key at the cut would not be recognised.
        call.scrub(f"{call.endpoint.provider}: {message}")[:_SHOWN_CHARS],
        reason=reason,
        status=facts.failed_with,
        code=call.scrub(code) or None,
        retry_after=retry_after(headers, facts.message),
        request_id=call.scrub(request_id) if request_id else None,
        hint=_OTHER_MODEL.format(call.endpoint.provider) if reason is FailureReason.MODEL_NOT_FOUND else None,
    )


def error_event(call: Call, code: object, message: str) -> ProviderError:
    """The ProviderError for an error event in the middle of a stream."""
    facts = _Facts(None, str(code or ""), message)
    return ProviderError(
        call.scrub(f"{call.endpoint.provider}: {message}")[:_SHOWN_CHARS],
        reason=reason_for(facts.failed_with, f"{facts.code} {message}"),
        status=facts.failed_with,
        code=call.scrub(facts.code) or None,
        retry_after=retry_after({}, message),
    )


def retry_after(headers: Mapping[str, str], message: str = "") -> float | None:
    """How many seconds the provider asks us to wait, from its headers or its message."""
    if (milliseconds := _number(headers.get("retry-after-ms"))) is not None:
        return milliseconds / 1000
    given = headers.get("retry-after")
    if (seconds := _number(given)) is not None:
        return seconds
    if given:
        try:
            return _believable(max(0.0, parsedate_to_datetime(given).timestamp() - time.time()))
        except (ValueError, OverflowError):
            return None
    said = _SAID.search(message)
    amounts = [(float(number), _UNITS.get(unit.lower())) for number, unit in _AMOUNT.findall(said[1] if said else "")]
    known = [number * unit for number, unit in amounts if unit is not None]
    # An unknown unit means that the text was misread, so the whole wait is ignored.
    return _believable(sum(known)) if known and len(known) == len(amounts) else None


@dataclass(frozen=True, slots=True)
class _Facts:
    status: int | None
    code: str
    message: str

    @property
    def failed_with(self) -> int | None:
        """The status. In the middle of a stream, gateways pass on the upstream status as the code."""
        if self.status and self.status >= 400:
            return self.status
        return int(self.code) if re.fullmatch(r"[45]\d\d", self.code) else None


def _facts(error: Exception) -> _Facts:
    body = getattr(error, "body", None)
    inner: Any = body.get("error", body) if isinstance(body, dict) else body
    message = inner if isinstance(inner, str) else None
    words: list[object] = []
    if isinstance(inner, dict):
        message = inner.get("message") or inner.get("detail")
        if message and (param := inner.get("param")) and str(param) not in str(message):
            message = f"{message} ({param})"
        details = inner.get("details")
        # The most specific first: `type` is often no more than "invalid_request_error".
        words = [details.get("error_code") if isinstance(details, dict) else None, inner.get("code"), inner.get("type")]
    code = next((str(word) for word in words if word), "")
    status = getattr(error, "status_code", None)
    return _Facts(status if isinstance(status, int) else None, code, str(message or error))


def _root(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error


def _connection_failure(root: BaseException) -> str:
    """One of our codes for calls that did not reach their server.

    The text counts too: HTTP libraries do not always keep the cause.
    """
    if isinstance(root, ConnectionRefusedError) or _CONNECTION_REFUSED.search(str(root)):
        return "connection_refused"
    is_dns = isinstance(root, gaierror) or _HOST_NOT_FOUND.search(str(root))
    return "host_not_found" if is_dns else "connection_failed"


def _shown(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _number(text: str | None) -> float | None:
    try:
        return _believable(float(text)) if text else None
    except ValueError:
        return None


def _believable(seconds: float) -> float | None:
    return seconds if 0 <= seconds < _LONGEST_WISH else None
