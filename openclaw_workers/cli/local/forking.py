"""The process that `ocw up` forks workers, the ingress and Flower from, so that each module is imported once.

It imports what they need and nothing that depends on their environment. It has one thread and no connection: a fork
copies neither threads nor the state of the other end. What belongs to one process is made after the fork.

Each order comes with the output of the new process and a line of its own. A fork reports its pid there, and runs once
the supervisor has read it: one that came too late ends. The process is forked twice, so that the supervisor becomes its
parent, which reaps it, and whose end it shares. So nothing happens to it when this process ends.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import socket
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from openclaw_workers.cli.local.start_program import end_with_parent
from openclaw_workers.process_title import set_title

READY: Final = b"r"
GO: Final = b"g"
HEAD_BYTES: Final = 4
FILES: Final = 2
ADOPTION_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class Order:
    """What a fork becomes."""

    title: str
    package: str
    """Run as `python -m` runs it."""
    arguments: list[str]
    env: dict[str, str]
    modules: list[str]
    """Imported before the fork, if they have not been."""


def main() -> None:
    supervisor = os.getppid()
    line = _line()
    gc.disable()  # a collection would leave holes in the pages that forks share
    plan = json.loads(sys.argv[1])
    preload(plan["modules"], plan["apis"])
    set_title("ocw fork-server")
    serve(line, supervisor)()


def preload(modules: list[str], apis: list[str]) -> None:
    """Import modules, build the validators of our models, and load what SDKs load at their first call by these APIs."""
    if not apis and all(name in sys.modules for name in modules):
        return
    for name in modules:
        import_module(name)
    for model in _models(BaseModel):
        model.model_rebuild(raise_errors=False)
    for api in apis:
        import_module("openclaw_workers.providers.remote").warm_up_api(api)
    gc.collect()
    gc.freeze()  # otherwise each collection in a fork would copy the pages that it looks at


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Our models; a process would build their validators when it first uses them."""
    for model in base.__subclasses__():
        if model.__module__.startswith(("openclaw_workers.", "ingress.")):
            yield model
            yield from _models(model)


def serve(line: socket.socket, supervisor: int) -> Callable[[], object]:
    """Fork a process for each order. Returns in the fork only, with what it has to run."""
    _require_nothing_shared()
    line.sendall(READY)
    while True:
        head, files, _, _ = socket.recv_fds(line, HEAD_BYTES, FILES)
        if not head:
            sys.exit(0)  # the supervisor has closed it
        order = Order(**json.loads(line.recv(int.from_bytes(head), socket.MSG_WAITALL)))
        preload(order.modules, [])
        _require_nothing_shared()
        middle = os.fork()
        if middle == 0:
            if os.fork() != 0:
                # The middle process ends at once, so that the new one is adopted by the supervisor.
                os._exit(0)
            line.close()
            return _become(order, files, supervisor)
        for file in files:
            os.close(file)
        # Not the new process: that is the supervisor's child now.
        os.waitpid(middle, 0)


def _line() -> socket.socket:
    """The line to the supervisor, which is our stdin. Forks have none."""
    line = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return line


def _require_nothing_shared() -> None:
    """Refuse to fork what forks would share: memory, or a lock that a thread holds and never gives back."""
    threads = len(os.listdir("/proc/self/task"))
    shared = [line for line in Path("/proc/self/maps").read_text().splitlines() if " rw-s " in line]
    if threads != 1 or shared:
        what = f"{threads} threads are running" if threads != 1 else f"there is shared memory: {shared[0].split()[-1]}"
        sys.exit(f"error: {what}; that must begin after the fork")


def _become(order: Order, files: list[int], supervisor: int) -> Callable[[], Any]:
    # A group of its own, which the supervisor can kill as a whole.
    os.setsid()
    deadline = time.monotonic() + ADOPTION_SECONDS
    while os.getppid() != supervisor:
        if time.monotonic() > deadline:
            os._exit(1)
        time.sleep(0.0005)
    end_with_parent(supervisor)
    output, answer = files
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    with socket.socket(fileno=answer) as to_supervisor:
        to_supervisor.sendall(os.getpid().to_bytes(HEAD_BYTES))
        if to_supervisor.recv(1) != GO:
            os._exit(1)
    # Only the order's variables: those of the fork server may be older, and it has no Redis URL.
    os.environ.clear()
    os.environ.update(order.env)
    # C code reads TZ once; the fork server has read its own.
    time.tzset()
    set_title(order.title)
    gc.enable()
    sys.argv = [order.package, *order.arguments]
    return lambda: runpy.run_module(order.package, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
