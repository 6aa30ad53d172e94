"""The thin edge in front of the engine. The terminal is the one channel so far, and lives in `openclaw_workers.cli`."""
