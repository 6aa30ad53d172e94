"""What every command shares: where the configuration and the state are, and how to answer."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import click

from openclaw_workers.config.loader import Loaded, load
from openclaw_workers.runtime import resolve_redis_url

if TYPE_CHECKING:
    from openclaw_workers.engine.accept import Intake
    from openclaw_workers.engine.control import Control
    from openclaw_workers.engine.stores import Stores
    from openclaw_workers.tasks.publish import CeleryWaker


@dataclass
class CliContext:
    """Built once per command line; connects and imports only when a command needs it."""

    config_path: str | None = None
    state_dir: Path | None = None
    json: bool = False
    python: str = field(default=sys.executable)

    @cached_property
    def loaded(self) -> Loaded:
        return load(self.config_path, state_dir=self.state_dir)

    @cached_property
    def redis_url(self) -> str:
        return resolve_redis_url(self.loaded.settings, os.environ, self.loaded.state_dir)

    @cached_property
    def stores(self) -> Stores:
        from openclaw_workers.engine.stores import open_stores

        return open_stores(self.loaded.settings, self.redis_url)

    @cached_property
    def waker(self) -> CeleryWaker:
        self.export_environment()
        from openclaw_workers.tasks.app import app
        from openclaw_workers.tasks.publish import CeleryWaker

        return CeleryWaker(app, self.stores.redis, self.loaded.settings.engine.namespace)

    @cached_property
    def intake(self) -> Intake:
        from openclaw_workers.engine.accept import Intake

        return Intake(self.stores, self.waker)

    @cached_property
    def control(self) -> Control:
        from openclaw_workers.engine.control import Control

        return Control(self.stores, self.waker)

    def export_environment(self) -> None:
        """Make Celery's processes, which know nothing of our options, find the same configuration."""
        if self.loaded.source is not None:
            os.environ["OPENCLAW_CONFIG"] = str(self.loaded.source)
        os.environ["OPENCLAW_STATE_DIR"] = str(self.loaded.state_dir)
        os.environ["REDIS_URL"] = self.redis_url


pass_cli = click.make_pass_decorator(CliContext, ensure=True)
