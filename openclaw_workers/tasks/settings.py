"""Finds the configuration inside Celery's processes, which do not get our command line options."""

from __future__ import annotations

import os
from functools import cache

from openclaw_workers.config.engine import EngineSettings
from openclaw_workers.config.loader import Loaded, load
from openclaw_workers.state_dir import resolve_redis_url


@cache
def loaded() -> Loaded:
    """The configuration of this process, by OPENCLAW_CONFIG and OPENCLAW_STATE_DIR."""
    return load()


def engine_settings() -> EngineSettings:
    return loaded().settings.engine


def redis_url() -> str:
    return resolve_redis_url(loaded().settings, os.environ, loaded().state_dir)
