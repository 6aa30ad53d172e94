"""Load a configuration text as if it were the only one on the machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

from openclaw_workers.config.loader import Loaded, load
from openclaw_workers.errors import ConfigurationError


class LoadText(Protocol):
    def __call__(self, text: str, *, name: str = "openclaw.yaml", env: Mapping[str, str] | None = None) -> Loaded: ...


class ProblemsIn(Protocol):
    def __call__(
        self, text: str, *, name: str = "openclaw.yaml", env: Mapping[str, str] | None = None
    ) -> list[str]: ...


@pytest.fixture
def load_text(tmp_path: Path) -> LoadText:
    def load_it(text: str, *, name: str = "openclaw.yaml", env: Mapping[str, str] | None = None) -> Loaded:
        (tmp_path / name).write_text(text)
        return load(tmp_path / name, env={"HOME": str(tmp_path / "home"), **(env or {})}, cwd=tmp_path)

    return load_it


@pytest.fixture
def problems_in(load_text: LoadText) -> ProblemsIn:
    def refuse(text: str, *, name: str = "openclaw.yaml", env: Mapping[str, str] | None = None) -> list[str]:
        with pytest.raises(ConfigurationError) as refused:
            load_text(text, name=name, env=env)
        return refused.value.problems

    return refuse
