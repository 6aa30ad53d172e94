"""The OpenAPI document is what the ingress does: generated requests get no 5xx, and answers of the form it gives."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from ingress.api import openapi
from ingress.api.endpoints import ENDPOINTS
from tests.support.fleet import Fleet
from tests.support.ingress import Api, new_token, start_ingress
from tests.support.programs import as_text, program, say, spawn

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
STREAMS = [f"/api/v1{each.path}" for each in ENDPOINTS if each.streams and each.method == "GET"]
SCHEMA = schemathesis.openapi.from_dict(openapi()).exclude(path=STREAMS)
"""Without the streams, which do not end."""


class Target:
    """A running ingress, and names that exist in it."""

    def __init__(self, fleet: Fleet) -> None:
        self.url = start_ingress(fleet).url
        self.headers = {"Authorization": f"Bearer {new_token(fleet)}"}
        api = Api(self.url, self.headers["Authorization"].removeprefix("Bearer "))
        job = program(spawn(program(say("done")), label="helper"), say("spawned"), say("heard"))
        tree = api.send(as_text(job), sessionKey="tree", wait="tree")
        child = tree["subagents"][0]["runId"]
        self.known = {"key": ["tree", tree["sessionKey"]], "id": [tree["runId"], child], "of": ["tree", tree["runId"]]}
        self.known |= {"channel": ["telegram"], "account": ["default"], "agent": ["main"]}
        self.known |= {"tool": ["exec"], "name": ["reporter"]}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    limits = {"requestsPerMinute": 1_000_000}
    with Fleet(tmp_path_factory.mktemp("fleet"), {"gateway": {"limits": limits}}) as fleet:
        fleet.ready(*(fleet.worker(lane, wait=False) for lane in ("main", "subagent", "service")))
        yield Target(fleet)


@SCHEMA.parametrize()
@settings(
    max_examples=12,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
    derandomize=True,
)
def test_generated_requests_get_documented_answers(case: schemathesis.Case[Any], target: Target) -> None:
    chosen = random.Random(case.id)
    for name in case.path_parameters or {}:
        if chosen.random() < 0.5:
            case.path_parameters[name] = chosen.choice(target.known[name])
    body: Any = case.body
    if isinstance(body, dict) and body.get("wait") in ("reply", "tree"):
        body["timeoutSeconds"] = 2
    if case.path.endswith(("/config/apply", "/config/rollback")) and isinstance(body, dict):
        body |= {"dryRun": True} if case.path.endswith("apply") else {"version": 99}  # the limits must stay
    case.call_and_validate(base_url=target.url, headers=target.headers, checks=list(CHECKS), timeout=30)


def test_the_document_names_every_endpoint_with_its_scope() -> None:
    paths = openapi()["paths"]
    documented = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert documented == {(each.method, f"/api/v1{each.path}") for each in ENDPOINTS}
    for each in ENDPOINTS:
        assert each.scope in paths[f"/api/v1{each.path}"][each.method.lower()]["description"]


def test_the_page_shows_every_endpoint_without_a_script_or_another_host(target: Target) -> None:
    page = Api(target.url).http.get("/api/v1/docs")
    assert page.headers["content-type"].startswith("text/html")
    for each in ENDPOINTS:
        assert f"{each.method} /api/v1{each.path}" in page.text
    assert "<script" not in page.text
    assert "//" not in page.text.replace("http://www.w3.org", "")
    assert Api(target.url).http.get("/api/v1/openapi.json").json() == openapi()
