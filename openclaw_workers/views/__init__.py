"""Stored records as JSON: pure functions that the CLI, the HTTP API and the web page share."""
