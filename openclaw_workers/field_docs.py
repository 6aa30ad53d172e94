"""The docstrings of a class's fields, read from its source when somebody asks for them.

pydantic can collect them too, but does so when a class is made, and parses the class's file for it. That took half of
the time of importing the settings.
"""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from typing import Any

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic_core import CoreSchema


class DocumentedModel(BaseModel):
    """A model whose JSON schema describes fields with their docstrings."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, text in field_docs(cls).items():
            shown = properties.get(cls.model_fields[name].alias or name)
            if shown is not None:
                shown.setdefault("description", text)
        return schema


def field_docs(model: type[BaseModel]) -> dict[str, str]:
    """By field, of the class and the classes it inherits from. A field without one is missing."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base.__module__.partition(".")[0] != "pydantic":
            found |= _docs_in(base.__module__).get(base.__qualname__, {})
    return {name: text for name, text in found.items() if name in model.model_fields}


@cache
def _docs_in(module: str) -> dict[str, dict[str, str]]:
    """By class and field, of the classes at the top of a module."""
    source = inspect.getsource(sys.modules[module])
    classes = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return {each.name: dict(_fields_of(each)) for each in classes}


def _fields_of(node: ast.ClassDef) -> list[tuple[str, str]]:
    found = []
    for field, after in zip(node.body, node.body[1:], strict=False):
        match field, after:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str() as text)):
                found.append((name, inspect.cleandoc(text)))
    return found
