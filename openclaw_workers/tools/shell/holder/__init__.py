"""Holds one command: owns its terminal or pipes, writes its output to files and ends it with all that it started.

It runs in a process of its own and imports nothing else of this package: it starts fast and stays small. `server.py`
forks it for a worker, which writes one line of JSON (`spec.py`) to its standard input and keeps that pipe open. Then:

- The pipe ends: the worker has died. The command is killed and leaves nothing behind.
- The line `detach` arrives: the command goes on without the worker, and others reach it by the socket in its directory.
- The line `stop` arrives: the turn was stopped.
"""
