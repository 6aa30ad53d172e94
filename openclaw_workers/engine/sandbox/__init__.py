"""Which sessions are sandboxed, and where."""
