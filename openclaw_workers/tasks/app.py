"""The Celery application: `celery -A openclaw_workers.tasks.app worker -Q main`, configured by celeryconfig.py."""

from __future__ import annotations

from celery import Celery

app = Celery("openclaw", set_as_current=False)
app.config_from_object("celeryconfig")
