"""Python imports this at start in a worker that has this directory on its path: it counts what Celery publishes."""

from benchmarks.publishes import count

count()
