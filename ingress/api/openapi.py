"""The OpenAPI document, made from the route table and the models."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from ingress.api.models.answers import AnswerBody, ErrorAnswer
from ingress.api.table import PREFIX, Endpoint, Input, NoInput
from openclaw_workers import __version__

REF = "#/components/schemas/{model}"
STATUS_TEXT = {
    400: "The request cannot be used",
    401: "No valid token",
    403: "The token may not do this",
    404: "No such thing",
    405: "Not with this method",
    409: "Not in this state",
    413: "The body is too large",
    415: "The body is not JSON",
    422: "A field is wrong",
    429: "Too many requests",
    431: "The address or a header is too long",
    503: "Redis does not answer",
}
WITH_BODY = ("POST", "PATCH")


def document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    table = list(endpoints)
    models: list[tuple[type[BaseModel], Any]] = [
        (model, "validation" if issubclass(model, Input) else "serialization")
        for model in dict.fromkeys(model for each in table for model in (each.answer, each.query, each.body))
        if model is not NoInput
    ]
    models += [(ErrorAnswer, "serialization"), (AnswerBody, "serialization")]
    refs, schemas = models_json_schema(models, by_alias=True, ref_template=REF)
    named = {model: schema for (model, _), schema in refs.items()}
    paths: dict[str, Any] = {}
    for endpoint in table:
        paths.setdefault(PREFIX + endpoint.path, {})[endpoint.method.lower()] = _operation(
            endpoint, named, schemas["$defs"]
        )
    return {
        "openapi": "3.1.0",
        "info": {"title": "OpenClaw Workers", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _operation(endpoint: Endpoint, named: dict[Any, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "description": f"Needs scope `{endpoint.scope}`.",
        "operationId": re.sub(r"\W+", "_", f"{endpoint.method.lower()}{endpoint.path}").strip("_"),
        "tags": [endpoint.tag],
        "parameters": [*_in_path(endpoint), *_in_query(endpoint, named, schemas)],
        "responses": _responses(endpoint, named),
    }
    if endpoint.body is not NoInput:
        is_needed = any(field.is_required() for field in endpoint.body.model_fields.values())
        content = {"application/json": {"schema": named[endpoint.body]}}
        operation["requestBody"] = {"required": is_needed, "content": content}
    return operation


def _in_path(endpoint: Endpoint) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
        for name in re.findall(r"{(\w+)}", endpoint.path)
    ]


def _in_query(endpoint: Endpoint, named: dict[Any, Any], schemas: dict[str, Any]) -> list[dict[str, Any]]:
    if endpoint.query is NoInput:
        return []
    model = schemas[named[endpoint.query]["$ref"].rpartition("/")[2]]
    return [
        {"name": name, "in": "query", "required": False, "schema": _without_null(schema)}
        for name, schema in model["properties"].items()
    ]


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A query cannot say null; leaving a parameter out does."""
    choices = [each for each in schema.get("anyOf", []) if each.get("type") != "null"]
    rest = {name: value for name, value in schema.items() if name not in ("anyOf", "default")}
    return {**rest, **choices[0]} if choices else schema


def _responses(endpoint: Endpoint, named: dict[Any, Any]) -> dict[str, Any]:
    content: dict[str, Any] = {"application/json": {"schema": named[endpoint.answer]}}
    if endpoint.streams:
        stream = {"text/event-stream": {"schema": {"type": "string"}}}
        content = stream if endpoint.method == "GET" else content
    responses: dict[str, Any] = {str(endpoint.status): {"description": "Done", "content": content}}
    if endpoint.status == 202:
        answer: dict[str, Any] = {"application/json": {"schema": named[AnswerBody]}}
        if endpoint.streams:
            answer["text/event-stream"] = {"schema": {"type": "string"}}
            either = {"anyOf": [named[endpoint.answer], named[AnswerBody]]}
            # Without `wait` it is 202 and a receipt. If the wait times out, it is 202 too, with the answer as far as
            # it got.
            responses["202"]["content"] = {"application/json": {"schema": either}}
        responses["200"] = {"description": "Answered", "content": answer}
    error = {"application/json": {"schema": named[ErrorAnswer]}}
    statuses = [*endpoint.errors, 405, 431, *((413, 415) if endpoint.method in WITH_BODY else ())]
    for status in sorted(statuses):
        responses[str(status)] = {"description": STATUS_TEXT[status], "content": error}
    return responses
