"""Environment variables that set a secret or an address."""

from __future__ import annotations

import pytest

from openclaw_workers.config.loader import ENVIRONMENT
from tests.unit.config.conftest import LoadText


@pytest.mark.parametrize("variable", ENVIRONMENT)
def test_every_environment_variable_takes_effect(variable: str, load_text: LoadText) -> None:
    is_address = variable.endswith(("URL", "ROOT"))
    value = "redis://h:6379/0" if variable == "REDIS_URL" else "http://h:6333" if is_address else "t"
    assert f"environment {variable}" in load_text("", env={variable: value}).origins.values()
