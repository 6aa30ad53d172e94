"""The reason of a failure by its status and text, and how long the provider asks to wait."""

from __future__ import annotations

import time
from email.utils import formatdate
from socket import gaierror

import pytest

from openclaw_workers.config.model_catalog import ModelInfo
from openclaw_workers.errors import FailureReason as Why
from openclaw_workers.errors import describe_cooldown, describe_failure
from openclaw_workers.providers.base import ModelRequest
from openclaw_workers.providers.call import Call
from openclaw_workers.providers.endpoint import Endpoint
from openclaw_workers.providers.http.failures import reason_for, retry_after, to_provider_error

CALL = Call(
    ModelRequest(model="m", system="", messages=[]),
    ModelInfo("box", "m", "openai-completions", context_window=8000, max_tokens=1000),
    Endpoint("box", base_url="http://127.0.0.1:9/v1"),
)

BY_TEXT: list[tuple[int | None, str, Why]] = [
    # Billing.
    (400, "Your credit balance is too low to access the Anthropic API.", Why.BILLING),
    (429, "insufficient_quota You exceeded your current quota, please check your plan and billing.", Why.BILLING),
    (429, "enforced_spend_limit_reached You have reached your spend limit", Why.BILLING),
    (400, "billing_hard_limit_reached Billing hard limit has been reached", Why.BILLING),
    (None, "billing_error Your account is out of credits", Why.BILLING),
    (403, "Payment required: insufficient credits", Why.BILLING),
    (None, "Insufficient account credit", Why.BILLING),
    # Limits.
    (429, "rate_limit_error Number of request tokens has exceeded your per-minute rate limit", Why.RATE_LIMIT),
    (
        429,
        "Request too large for gpt-4o on tokens per min (TPM): reduce the length of the messages",
        Why.RATE_LIMIT,
    ),
    (400, "rate limit: maximum context length per minute", Why.FORMAT),
    (500, "overloaded_error Overloaded", Why.RATE_LIMIT),
    (None, "overloaded_error Overloaded", Why.RATE_LIMIT),
    (None, "rate_limit_exceeded slow down", Why.RATE_LIMIT),
    # Keys.
    (401, "Invalid API key", Why.AUTH),
    (401, "authentication_error invalid x-api-key", Why.AUTH),
    (401, "The token is invalid or expired", Why.AUTH),
    (403, "token: invalid scope", Why.AUTH),
    (401, "invalid_api_key Incorrect API key provided: sk-…", Why.AUTH_PERMANENT),
    (403, "permission_error This API key has been revoked", Why.AUTH_PERMANENT),
    (403, "This organization has been disabled.", Why.AUTH_PERMANENT),
    (401, "account_deactivated Your account was deactivated", Why.AUTH_PERMANENT),
    (401, "OAuth token has expired, please sign in again", Why.AUTH),
    (403, "permission_error Your key has no access to this workspace", Why.AUTH),
    (400, "API key not valid. Please pass a valid API key.", Why.AUTH_PERMANENT),
    (None, "authentication_error try again", Why.AUTH),
    (None, "invalid_api_key no", Why.AUTH_PERMANENT),
    (None, "Invalid Anthropic API key provided", Why.AUTH),
    # Windows.
    (400, "prompt is too long: 208310 tokens > 200000 maximum", Why.CONTEXT_OVERFLOW),
    (400, "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000", Why.CONTEXT_OVERFLOW),
    (400, "context_length_exceeded This model's maximum context length is 128000 tokens.", Why.CONTEXT_OVERFLOW),
    (400, "Your input exceeds the context window of this model.", Why.CONTEXT_OVERFLOW),
    (500, "the request exceeds the available context size, try increasing it", Why.CONTEXT_OVERFLOW),
    (422, "prompt is too long", Why.CONTEXT_OVERFLOW),
    (None, "context_length_exceeded Your input exceeds the context window", Why.CONTEXT_OVERFLOW),
    (400, "输入超出模型上下文长度", Why.CONTEXT_OVERFLOW),
    # Models.
    (404, "not_found_error model: claude-x", Why.MODEL_NOT_FOUND),
    (400, "model_not_found The model `gpt-x` does not exist or you do not have access to it.", Why.MODEL_NOT_FOUND),
    (400, "invalid model name", Why.MODEL_NOT_FOUND),
    (403, "model_not_found Project `p` does not have access to model `gpt-x`", Why.MODEL_NOT_FOUND),
    (403, "Your organization does not have access to the model", Why.MODEL_NOT_FOUND),
    (None, "model_not_found no", Why.MODEL_NOT_FOUND),
    (400, "The model's reasoning effort is not available", Why.FORMAT),
    (400, "Model m: thinking level xhigh does not exist", Why.FORMAT),
    # Sessions.
    (410, "The session has expired", Why.SESSION_EXPIRED),
    (404, "session expired", Why.SESSION_EXPIRED),
    (404, "Conversation with id 'conv_1' not found.", Why.SESSION_EXPIRED),
    (400, "session_expired start anew", Why.SESSION_EXPIRED),
    (None, "unknown session", Why.SESSION_EXPIRED),
    (401, "Your session has expired, please sign in again", Why.AUTH),
    # The rest.
    (400, "messages.3: roles must alternate", Why.FORMAT),
    (None, "invalid_request_error something", Why.FORMAT),
    (None, "timeout_error", Why.TIMEOUT),
    (500, "deadline exceeded", Why.TIMEOUT),
    (None, "server_error The server had an error", Why.TIMEOUT),
    (418, "I'm a teapot", Why.UNKNOWN),
    (None, "", Why.UNKNOWN),
]


@pytest.mark.parametrize(("status", "text", "reason"), BY_TEXT)
def test_the_text_decides_where_the_status_does_not(status: int | None, text: str, reason: Why) -> None:
    assert reason_for(status, text) is reason


@pytest.mark.parametrize(
    ("raised", "described"),
    [
        pytest.param(ConnectionRefusedError(111, "Connection refused"), "connection refused", id="refused"),
        pytest.param(gaierror(-2, "Name or service not known"), "host not found", id="dns"),
        pytest.param(OSError("[Errno 111] Connection refused"), "connection refused", id="refused-as-text"),
        pytest.param(OSError("[Errno -2] Name or service not known"), "host not found", id="dns-as-text"),
        pytest.param(ConnectionResetError(104, "reset"), "no connection", id="reset"),
    ],
)
def test_a_call_that_did_not_reach_its_server_is_a_timeout_only_for_failover(raised: OSError, described: str) -> None:
    failed = to_provider_error(raised, CALL)
    assert failed.reason is Why.TIMEOUT
    assert failed.description == described


def test_what_people_read_is_what_happened() -> None:
    assert describe_failure(Why.TIMEOUT, 500) == "HTTP 500"
    assert describe_failure(Why.UNKNOWN, 500) == "HTTP 500"
    assert describe_failure(Why.TIMEOUT, 504) == "timeout"
    assert describe_failure(Why.TIMEOUT) == "timeout"
    assert describe_failure(Why.RATE_LIMIT, 429) == "rate_limit"
    assert describe_cooldown(Why.TIMEOUT) == "unavailable"


def test_the_time_to_wait_is_read_from_headers_and_text() -> None:
    assert retry_after({"retry-after-ms": "1500", "retry-after": "9"}) == 1.5
    assert retry_after({"retry-after": "2.5"}) == 2.5
    assert retry_after({"retry-after": formatdate(time.time() + 60, usegmt=True)}) == pytest.approx(60, abs=2)
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({"retry-after": "-4"}) is None
    assert retry_after({}, "Please try again in 250ms.") == 0.25
    assert retry_after({}, "Please try again in 2m") == 120
    assert retry_after({}, "Please try again in 1m26.5s. Visit our site") == 86.5
    assert retry_after({}, "Please retry after 26 seconds. Or ask for more") == 26
    assert retry_after({}, "Please retry in 1 hour 5 minutes") == 3900
    assert retry_after({}, "Please try again in 3 moons") is None
    assert retry_after({}, f"Please try again in {'9' * 400}s") is None
    assert retry_after({"retry-after": "Fri, 31 Dec 9999 23:59:59 GMT"}) is None
    assert retry_after({"retry-after": "0"}) == 0
    assert retry_after({}) is None
