"""Which secrets of the configuration a tool is handed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from openclaw_workers.config.tool_secrets import SecretSettings
from openclaw_workers.tools.base import Tool
from openclaw_workers.tools.policy.names import catalogue_of


class ToolSecrets:
    def __init__(self, secrets: Mapping[str, SecretSettings]) -> None:
        self._secrets = secrets

    def of(self, tool: Tool[Any]) -> dict[str, str]:
        """The secrets that name this tool, by their names."""
        if not self._secrets:
            return {}
        catalogue = catalogue_of([tool])
        return {
            name: secret.value.get_secret_value()
            for name, secret in self._secrets.items()
            if catalogue.matches(secret.tools, tool.name)
        }
