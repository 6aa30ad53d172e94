"""Talking to agents from Python: `Client` and `AsyncClient`, over HTTP or straight to Redis."""
