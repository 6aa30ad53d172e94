"""Celery's settings, where Celery's own commands look for them; they live in the package."""

from openclaw_workers.tasks.celery_settings import *  # noqa: F403
