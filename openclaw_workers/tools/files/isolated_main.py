"""Run a stand-alone Python file in a process of its own, with limits. `run_isolated` starts this file as a script.

The request comes as JSON from stdin, and the answer goes as JSON to stdout. The file defines

    answer(request)     what the request asks for; the model reads an `error` in it
    MEMORY_BYTES        how much memory this may take
    TOO_MUCH_MEMORY     what to tell if it needs more

It imports nothing of ours, so that it starts quickly.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType


def main(path: str) -> None:
    request = json.loads(sys.stdin.buffer.read())
    # If the worker dies, nobody else would end this process. The default action of this signal ends it in the kernel,
    # even while the interpreter is busy.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    # Later than the worker's own limit, which reports a better error.
    signal.alarm(int(request["timeout_seconds"]) + 2)
    script = _load(path)
    resource.setrlimit(resource.RLIMIT_AS, (script.MEMORY_BYTES, script.MEMORY_BYTES))
    try:
        answer = script.answer(request)
    except (MemoryError, RecursionError):
        answer = {"error": script.TOO_MUCH_MEMORY}
    with os.fdopen(1, "wb") as output:
        output.write(json.dumps(answer).encode())


def _load(path: str) -> ModuleType:
    spec = spec_from_file_location("isolated_script", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main(sys.argv[1])
