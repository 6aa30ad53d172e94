"""`python -m openclaw_workers.cli` is `ocw`."""

from __future__ import annotations

from openclaw_workers.cli.main import main

if __name__ == "__main__":
    main()
