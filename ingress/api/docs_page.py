"""The API as a page for people: plain HTML from the OpenAPI document, without a script and without other hosts."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark; --line: #8884; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
code, summary b { font-family: ui-monospace, monospace; font-size: .95em; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .5rem 0; padding: .5rem .8rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; margin: .5rem 0; }
td, th { border-top: 1px solid var(--line); padding: .25rem .5rem; text-align: left; vertical-align: top; }
"""


def page(document: dict[str, Any]) -> str:
    title = escape(document["info"]["title"])
    parts = "".join(_sections(document))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}: API</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body>'
        f"<h1>{title}: API</h1><p>Send <code>Authorization: Bearer TOKEN</code>; <code>ocw tokens create</code> makes"
        f' a token. The same as a document: <a href="openapi.json">openapi.json</a>.</p>{parts}</body></html>'
    )


def _sections(document: dict[str, Any]) -> Iterator[str]:
    schemas = document["components"]["schemas"]
    last = ""
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            tag = operation["tags"][0]
            if tag != last:
                yield f"<h2>{escape(tag)}</h2>"
                last = tag
            yield _operation(path, method, operation, schemas)


def _operation(path: str, method: str, operation: dict[str, Any], schemas: dict[str, Any]) -> str:
    fields = [(each["name"], each["in"], each["schema"]) for each in operation["parameters"]]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    if body:
        model = schemas[body["$ref"].rpartition("/")[2]]
        fields += [(name, "body", schema) for name, schema in model.get("properties", {}).items()]
    rows = "".join(
        f"<tr><td><code>{escape(name)}</code></td><td>{where}</td><td>{escape(_kind(schema))}</td>"
        f"<td>{escape(schema.get('description', ''))}</td></tr>"
        for name, where, schema in fields
    )
    table = f"<table><tr><th>Field</th><th>In</th><th>Type</th><th>Meaning</th></tr>{rows}</table>" if rows else ""
    answers = ", ".join(f"{code} {escape(each['description'])}" for code, each in operation["responses"].items())
    head = f"<summary><b>{method.upper()} {escape(path)}</b> {escape(operation['summary'])}</summary>"
    needs = escape(operation["description"].replace("`", ""))
    return f"<details>{head}<p>{needs}</p>{table}<p>Answers: {answers}</p></details>"


def _kind(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "anyOf" in schema:
        return " or ".join(_kind(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(map(str, schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    return str(schema.get("type", "any"))
