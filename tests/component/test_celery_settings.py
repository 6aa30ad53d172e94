"""What of our settings reaches Celery."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from openclaw_workers.cli.local.celery_argv import celery_argv
from openclaw_workers.domain.runs import Lane

ROOT = Path(__file__).parents[2]
SHOWN = ("worker_send_task_events", "broker_transport_options", "broker_url")


def celery_settings(tmp_path: Path, **engine: Any) -> dict[str, Any]:
    """The settings as a process of its own reads them, through the top-level file."""
    (tmp_path / "openclaw.json").write_text(json.dumps({"engine": engine}))
    env = {
        **os.environ,
        "OPENCLAW_CONFIG": str(tmp_path / "openclaw.json"),
        "OPENCLAW_STATE_DIR": str(tmp_path),
        "REDIS_URL": "redis://somewhere/0",
    }
    code = f"import json, celeryconfig; print(json.dumps({{name: getattr(celeryconfig, name) for name in {SHOWN}}}))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


@pytest.mark.parametrize("is_on", [True, False])
def test_task_events_are_sent_only_where_they_are_wanted(tmp_path: Path, is_on: bool) -> None:
    assert celery_settings(tmp_path, taskEvents=is_on)["worker_send_task_events"] is is_on
    assert ("-E" in celery_argv(Lane.MAIN, 4, events=is_on)) is is_on


def test_key_names_are_as_configured_and_kombu_redelivers_nothing(tmp_path: Path) -> None:
    plain = celery_settings(tmp_path)["broker_transport_options"]
    own = celery_settings(tmp_path, namespace="mine")["broker_transport_options"]

    assert plain["ack_emulation"] is False
    assert (plain["global_keyprefix"], own["global_keyprefix"]) == ("ocw:celery:", "mine:celery:")


def test_modules_of_the_directory_it_is_started_in_are_not_taken_for_ours(tmp_path: Path) -> None:
    (tmp_path / "celeryconfig.py").write_text("broker_url = 'redis://of-another-project/0'")
    (tmp_path / "celery.py").write_text("raise SystemExit('another project')")
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(tmp_path), "REDIS_URL": "redis://somewhere/0"}
    argv = celery_argv(Lane.MAIN, 4)
    argv[argv.index("worker") :] = ["report"]

    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, text=True, check=True)

    assert "@somewhere:6379/0'" in done.stdout
    assert "task_acks_late: True" in done.stdout


def test_the_settings_are_read_once(tmp_path: Path) -> None:
    """Celery looks at them for every message; reading them each time made spawning three times as slow."""
    code = """
import sys
from openclaw_workers.tasks import app
reads = []
sys.setprofile(lambda frame, event, _: event == "call" and frame.f_code is app._settings.__code__ and reads.append(1))
conf = app.app.conf
print(conf.task_acks_late, conf.task_default_queue, conf.task_compression, len(reads))
"""
    env = {**os.environ, "OPENCLAW_STATE_DIR": str(tmp_path), "REDIS_URL": "redis://somewhere/0"}

    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)

    assert done.stdout == "True main None 1\n"
