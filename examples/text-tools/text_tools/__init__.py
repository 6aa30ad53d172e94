"""Tools for texts: an example plugin."""
