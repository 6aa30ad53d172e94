"""Side-by-side measurements: ours against raw Celery, on one Redis, in one run."""
