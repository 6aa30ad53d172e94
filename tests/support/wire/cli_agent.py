"""A small program that serves as a model: it repeats its input and remembers sessions.

Where the last line of the prompt is a word such as `hang`, it misbehaves accordingly. Called as
`cli_agent.py [--json] [--resume ID] [--home DIR] [--say WORDS]`, with the prompt on standard input.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from pathlib import Path


def main(arguments: list[str]) -> int:
    options = dict(zip(arguments, [*arguments[1:], ""], strict=True))
    prompt = options.get("--say") or sys.stdin.read()
    order = prompt.strip().rpartition("\n")[2]
    if order == "fail":
        sys.stderr.write("cannot: no licence\n")
        return 3
    if order.startswith("child"):
        # A grandchild that would outlive its parent; the test reads its pid.
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        (Path(options.get("--home") or ".") / "grandchild").write_text(str(child.pid))
        say(child.pid)
        if order == "child":
            time.sleep(600)
    if order in ("flood", "child flood"):
        while True:
            say("x" * 1000)
    if order == "hang":
        say("begun")
        time.sleep(600)
    if order == "env":
        say(os.environ.get("AGENT_KEY"), os.environ.get("OPENAI_API_KEY"), Path.cwd())
        return 0
    return answer(prompt, options, as_json="--json" in arguments)


def say(*words: object, end: str = "\n") -> None:
    sys.stdout.write(" ".join(map(str, words)) + end)
    sys.stdout.flush()


def answer(prompt: str, options: dict[str, str], *, as_json: bool) -> int:
    session = options.get("--resume") or f"s-{uuid.uuid4().hex[:8]}"
    memory = Path(options.get("--home") or ".") / session
    if "--resume" in options and not memory.exists():
        sys.stderr.write("No conversation found\n")
        return 1
    memory.open("a").write(prompt + "\n---\n")
    turns = memory.read_text().count("\n---\n")
    words = f"turn {turns}: {prompt}"
    if not as_json:
        say(words)
        return 0
    say("Starting up, this is no JSON")
    say(json.dumps({"type": "start", "session_id": session, "meta": {"id": session}}))
    half = len(words) // 2
    say(json.dumps({"message": {"text": words[:half]}}))
    say(json.dumps({"message": {"text": words[half:]}, "usage": {"input_tokens": 11, "output_tokens": 7}}), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
