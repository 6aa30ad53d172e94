"""What commands do not load: a command that people type must answer at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support.ocw import Ocw

SERVERS = {"celery", "kombu", "amqp", "flower", "tornado", "uvicorn", "starlette", "prometheus_client"}
SDKS = {"anthropic", "openai", "httpx", "httpx2", "mcp", "telegram", "qdrant_client", "wordllama", "numpy"}
TERMINALS = {"structlog", "rich", "pygments", "prompt_toolkit"}
NOT_LOADED = SERVERS | SDKS | TERMINALS
CODE = """
import json, os, sys
from openclaw_workers.cli.main import main
try:
    main()
finally:
    open(os.environ["MODULES"], "w").write(json.dumps(sorted(sys.modules)))
"""


def loaded_by(*words: str, directory: Path, env: Mapping[str, str]) -> set[str]:
    """The modules in a process after it has run a command; it must succeed."""
    listing = directory / "modules.json"
    argv = [sys.executable, "-c", CODE, *words]
    done = subprocess.run(
        argv, env={**env, "MODULES": str(listing)}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(listing.read_text()))


@pytest.mark.parametrize("words", [("agent", "-m", "/status"), ("agent", "-m", '{"steps": []}'), ("status",)])
def test_what_people_type_most_loads_neither_celery_nor_an_sdk_nor_a_terminal_library(
    ocw_cli: Ocw, tmp_path: Path, words: tuple[str, ...]
) -> None:
    loaded = loaded_by(*words, directory=tmp_path, env=ocw_cli.env)

    assert sorted(loaded & NOT_LOADED) == []


@pytest.mark.parametrize("typed", ["ocw sta", "ocw cron a", "ocw agent --mod"])
def test_fixed_words_are_completed_without_redis_and_without_a_configuration(tmp_path: Path, typed: str) -> None:
    shell = {"_OCW_COMPLETE": "bash_complete", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    nowhere = {"REDIS_URL": "redis://127.0.0.1:1/0", "OPENCLAW_CONFIG": str(tmp_path / "missing.yaml")}

    loaded = loaded_by(directory=tmp_path, env={**os.environ, **shell, **nowhere})

    assert sorted(loaded & (NOT_LOADED | {"redis", "pydantic", "yaml"})) == []
    assert not any(name.startswith(("openclaw_workers.engine", "openclaw_workers.store")) for name in loaded)
