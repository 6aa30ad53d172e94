"""Moves the files of an agent to another host, through Redis: one host answers, the other asks and writes."""
