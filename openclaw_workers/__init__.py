"""OpenClaw-style agents as durable jobs on a Celery fleet."""

__version__ = "0.1.0"
