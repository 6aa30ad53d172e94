"""Python imports this at start in a worker with this directory on its path. It then counts what Celery publishes."""

from benchmarks.publishes import count

count()
