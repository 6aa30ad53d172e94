"""deploy/entrypoint.sh, run by a shell."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from kombu import Connection

from openclaw_workers.store.client import connect

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("password", ["plain", "ab/cd+ef==", "p@ss:w#rd%41 ?"])
def test_the_entrypoint_escapes_any_password_in_the_address(tmp_path: Path, password: str) -> None:
    (tmp_path / "redis_password").write_text(f"{password}\n")
    env = {
        "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin",
        "REDIS_HOST": "redis",
        "SECRETS_DIR": str(tmp_path),
    }
    argv = ["/bin/sh", str(ROOT / "deploy/entrypoint.sh"), "printenv", "REDIS_URL"]

    url = subprocess.run(argv, env=env, check=True, capture_output=True, text=True).stdout.strip()

    given = connect(url).connection_pool.connection_kwargs
    assert (given["password"], given["host"], given["port"]) == (password, "redis", 6379)
    assert Connection(url).password == password
