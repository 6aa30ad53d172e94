"""Celery's command line, with our application imported first: `-A` alone would look for it in the working directory."""

from __future__ import annotations

from celery.__main__ import main

from openclaw_workers.tasks import app  # noqa: F401 - from here on, -A finds it without looking

if __name__ == "__main__":
    main()
