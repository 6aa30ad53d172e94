"""Each way a call can fail, by status, code, message and exception, and what it is taken for."""

from __future__ import annotations

import time
from dataclasses import replace
from email.utils import formatdate
from urllib.parse import urlsplit

import pytest

from openclaw_workers.config.models import Api
from openclaw_workers.errors import FailureReason as Why
from openclaw_workers.errors import ProviderError
from openclaw_workers.providers.http.failures import reason_for, retry_after
from tests.component.providers.wire_conversation import APIS, KEY, Wire
from tests.support.wire import Failure, Reply, WireServer

BY_STATUS = {
    400: Why.FORMAT,
    401: Why.AUTH,
    402: Why.BILLING,
    403: Why.AUTH,
    404: Why.MODEL_NOT_FOUND,
    408: Why.TIMEOUT,
    409: Why.UNKNOWN,
    410: Why.UNKNOWN,
    413: Why.CONTEXT_OVERFLOW,
    422: Why.FORMAT,
    429: Why.RATE_LIMIT,
    499: Why.TIMEOUT,
    500: Why.UNKNOWN,
    502: Why.TIMEOUT,
    503: Why.TIMEOUT,
    504: Why.TIMEOUT,
    **dict.fromkeys(range(520, 525), Why.TIMEOUT),
    529: Why.RATE_LIMIT,
}

TOLD: list[tuple[int | None, str, Why]] = [
    # Money, however it is said.
    (400, "Your credit balance is too low to access the Anthropic API.", Why.BILLING),
    (429, "insufficient_quota You exceeded your current quota, please check your plan and billing.", Why.BILLING),
    (429, "enforced_spend_limit_reached You have reached your spend limit", Why.BILLING),
    (400, "billing_hard_limit_reached Billing hard limit has been reached", Why.BILLING),
    (None, "billing_error Your account is out of credits", Why.BILLING),
    (403, "Payment required: insufficient credits", Why.BILLING),
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


@pytest.mark.parametrize(("status", "told", "reason"), TOLD)
def test_what_is_told_decides_where_the_status_does_not(status: int | None, told: str, reason: Why) -> None:
    assert reason_for(status, told) is reason


@pytest.mark.parametrize("api", APIS)
def test_every_status_has_its_reason_through_the_sdk(server: WireServer, api: Api) -> None:
    line = Wire(server, api, reasoning=False)
    for status, reason in BY_STATUS.items():
        server.script.append(Failure(status, "no luck", type="some_error", code="some_code"))
        with pytest.raises(ProviderError) as failed:
            line.ask()
        assert (failed.value.reason, failed.value.status) == (reason, status)
        assert (failed.value.code, failed.value.request_id) == ("some_code", "req_wire")
    assert len(server.requests) == len(BY_STATUS), "retrying is ours, not the SDK's"


@pytest.mark.parametrize("api", APIS)
def test_who_asks_for_a_model_that_is_not_there_is_told_how_to_name_another(server: WireServer, api: Api) -> None:
    """As with the address of a local server and nothing else."""
    server.script.append(Failure(404, 'model "gpt-4o" not found, try pulling it first'))
    with pytest.raises(ProviderError) as failed:
        Wire(server, api).ask()
    assert failed.value.hint == "name one that is served there, by /model wired/... or in agents.defaults.model"


@pytest.mark.parametrize("api", APIS)
def test_messages_of_the_wire_decide_too(server: WireServer, api: Api) -> None:
    line = Wire(server, api, reasoning=False)
    for status, told, reason in TOLD:
        if status is None or status == 418:
            continue
        server.script.append(Failure(status, told, headers={"retry-after": "17"}))
        with pytest.raises(ProviderError) as failed:
            line.ask()
        assert failed.value.reason is reason, told
        assert failed.value.retry_after == 17


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("body", ["<html>Bad gateway</html>", "", '{"detail": "no"}', '{"error": "no"}', "[]", "null"])
def test_bodies_of_any_shape_are_survived(server: WireServer, api: Api, body: str) -> None:
    server.script.append(Failure(502, body=body))
    with pytest.raises(ProviderError) as failed:
        Wire(server, api).ask()
    assert failed.value.reason is Why.TIMEOUT


@pytest.mark.parametrize("api", APIS)
def test_a_key_that_the_server_quotes_is_not_told_on(server: WireServer, api: Api) -> None:
    line = Wire(server, api)
    server.script.append(Failure(401, f"Incorrect API key provided: {KEY}."))
    with pytest.raises(ProviderError) as failed:
        line.ask()
    assert failed.value.message.endswith("Incorrect API key provided: ***.")
    assert failed.value.__cause__ is None
    assert failed.value.__suppress_context__, "the SDK's own error is not printed with it"
    assert KEY not in repr(line.endpoint)


@pytest.mark.parametrize("api", APIS)
def test_a_header_that_the_server_quotes_is_not_told_on(server: WireServer, api: Api) -> None:
    line = Wire(server, api, headers={"x-gateway": "gw-secret-123"})
    ids = {"request-id": "gw-secret-123", "x-request-id": "gw-secret-123"}
    server.script.append(Failure(403, "no gateway gw-secret-123", code="bad_gw-secret-123", headers=ids))
    with pytest.raises(ProviderError) as failed:
        line.ask()
    assert server.requests[0].headers["x-gateway"] == "gw-secret-123"
    assert (failed.value.message, failed.value.code) == ("wired: no gateway ***", "bad_***")
    assert "gw-secret-123" not in str(vars(failed.value))


@pytest.mark.parametrize("api", APIS)
def test_nor_is_one_that_is_quoted_in_mid_stream(server: WireServer, api: Api) -> None:
    line = Wire(server, api, headers={"x-gateway": "gw-secret-123"})
    error = {"type": "gw-secret-123", "code": "gw-secret-123", "message": f"gw-secret-123 and {KEY} are bad"}
    server.script.append(Reply("some", after=2, then="error", error=error))
    with pytest.raises(ProviderError) as failed:
        line.ask()
    assert failed.value.message == "wired: *** and *** are bad"
    assert "gw-secret-123" not in str(vars(failed.value))


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("code", "reason"), [(402, Why.BILLING), (429, Why.RATE_LIMIT), (502, Why.TIMEOUT)])
def test_a_status_that_a_gateway_passes_on_in_mid_stream_counts(
    server: WireServer, api: Api, code: int, reason: Why
) -> None:
    error = {"type": "error", "code": code, "message": "Provider returned error"}
    server.script.append(Reply("some", after=2, then="error", error=error))
    with pytest.raises(ProviderError) as failed:
        Wire(server, api).ask()
    assert (failed.value.reason, failed.value.status, failed.value.code) == (reason, code, str(code))


@pytest.mark.parametrize("api", APIS)
def test_nobody_listening_is_a_timeout(api: Api) -> None:
    with WireServer() as gone:
        line = Wire(gone, api)
    port = urlsplit(gone.url).port
    with_password = replace(line.endpoint, base_url=gone.url.replace("//", "//me:secret@"))
    for endpoint in (line.endpoint, with_password):
        with pytest.raises(ProviderError, match=f"wired: no connection to 127.0.0.1:{port}: ") as failed:
            line.ask(endpoint=endpoint)
        assert failed.value.reason is Why.TIMEOUT


def test_how_long_to_wait_is_read_from_headers_and_words() -> None:
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
