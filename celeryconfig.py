"""Celery's own commands look for their settings here. The settings are in the package."""

from openclaw_workers.tasks.celery_settings import *  # noqa: F403
