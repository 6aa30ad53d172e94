"""Models that need no key and no network; see docs/offline-models.md."""
