"""An installation through its HTTP API: requests, followed conversations, and records read back from their JSON."""
