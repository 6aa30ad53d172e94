"""The Celery application: `celery -A openclaw_workers.tasks.app worker -Q main`, configured by celeryconfig.py."""

from __future__ import annotations

import warnings

from celery import Celery
from celery.exceptions import SecurityWarning

# Said in one line of our own when a worker is ready.
warnings.filterwarnings("ignore", category=SecurityWarning, message=".*superuser privileges")

app = Celery("openclaw", set_as_current=False)
app.config_from_object("celeryconfig")
