"""The Celery application: `celery -A openclaw_workers.tasks.app worker -Q main`, configured by `celery_settings`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

from celery import Celery
from celery.exceptions import SecurityWarning
from celery.loaders.app import AppLoader
from celery.local import PromiseProxy

# Said in one line of our own when a worker is ready.
warnings.filterwarnings("ignore", category=SecurityWarning, message=".*superuser privileges")


def _settings() -> dict[str, Any]:
    """Our own module by its full name: Celery would prefer a `celeryconfig.py` in the working directory."""
    found = vars(import_module("openclaw_workers.tasks.celery_settings"))
    return {name: value for name, value in found.items() if not name.startswith("_")}


class InstalledOnly(AppLoader):
    """Imports what is installed. Celery looks into the working directory first, where a redis.py is another's."""

    def import_from_cwd(self, module: str, imp: Callable[..., Any] | None = None, package: str | None = None) -> Any:
        return (imp or self.import_module)(module, package=package)


app = Celery("openclaw", loader=InstalledOnly, set_as_current=False, task_cls="openclaw_workers.tasks.revoke:WakeTask")
app.config_from_object(PromiseProxy(_settings))  # read once, when it is first needed
