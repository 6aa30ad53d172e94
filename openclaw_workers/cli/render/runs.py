"""A run as text, from the same fields as its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openclaw_workers.cli.render.text import age, dollars, short_ids, short_key, span, table
from openclaw_workers.cli.render.transcripts import entry_lines, entry_of
from openclaw_workers.clock import now_ms
from openclaw_workers.domain.runs import RunState

Fields = Mapping[str, Any]


def run_table(runs: Sequence[Fields]) -> str:
    head = ("RUN", "STATE", "SESSION", "MODEL", "TOKENS", "TOOK", "QUEUED")
    names = short_ids([run["runId"] for run in runs])
    rows = [
        (
            names[run["runId"]],
            _state(run),
            run["label"] or short_key(run["sessionKey"]),
            run["model"],
            run["usage"]["total"],
            duration(run),
            age(run["queuedAt"]),
        )
        for run in runs
    ]
    return table(head, rows, right=("TOKENS", "TOOK"), drop=("TOKENS",), cut=("SESSION", "MODEL", "STATE"))


def _state(run: Fields) -> str:
    """The state, with the reason where that says more."""
    reason = _reason(run)
    return run["state"] if reason in (None, "complete", run["state"]) else f"{run['state']} ({reason})"


def _reason(run: Fields) -> str | None:
    """The reason; where a model call failed, what happened to it."""
    failed = run["modelAttempts"][-1:] if run["state"] == RunState.ERROR else []
    reason: str | None = run["reason"]
    return next((str(each["description"]) for each in failed if each["reason"] == reason), reason)


def is_final(run: Fields) -> bool:
    return RunState(run["state"]).is_final


def duration(run: Fields) -> str:
    if run["startedAt"] is None:
        return "-"
    return span((run["endedAt"] or now_ms()) - run["startedAt"])


def host_of(run: Fields) -> str:
    """`host/pid` of the worker that carries the run, or carried it last. Empty while the run waits."""
    if run["state"] in (RunState.QUEUED, RunState.PARKED) or not run["attempts"]:
        return ""
    return str(run["attempts"][-1]["worker"].rpartition("/")[0])


def run_lines(run: Fields) -> list[tuple[str, object]]:
    """Name and value of each line that `ocw runs show` prints."""
    usage, model, wanted = run["usage"], run["model"], run["fallbackFrom"]
    is_cached = usage["cacheRead"] or usage["cacheWrite"]
    started = run["startedAt"]
    return [
        ("run", run["runId"]),
        ("state", f"{run['state']} ({_reason(run)})" if run["reason"] else run["state"]),
        ("session", run["sessionKey"]),
        ("lane", run["lane"]),
        ("model", model),
        ("queued", age(run["queuedAt"])),
        ("waited", span(started - run["queuedAt"]) if started else None),
        ("took", duration(run) if started else None),
        ("covers", ", ".join(run["covers"])),
        ("tokens", f"{usage['input']} in, {usage['output']} out" if usage["total"] else None),
        ("cache", f"{usage['cacheRead']} read, {usage['cacheWrite']} written" if is_cached else None),
        ("cost", dollars(run["cost"]) if run["cost"] else None),
        *((f"attempt {number}", _failed_call(each)) for number, each in enumerate(run["modelAttempts"], start=1)),
        ("fallback", f"{model} answered instead of {wanted}" if wanted else None),
        *((f"owner {number}", _owner(attempt)) for number, attempt in enumerate(run["attempts"], start=1)),
        ("error", run["error"]),
    ]


def _failed_call(attempt: Fields) -> str:
    """Which model failed or was skipped, and why."""
    by = f"by {attempt['profile']}" if attempt["profile"] else ""
    details = [by, str(attempt["status"] or ""), attempt["code"] or ""]
    details += ["skipped" if attempt["skipped"] else f"after {span(attempt['milliseconds'])}"]
    return (
        f"{attempt['model']}: {attempt['description']} ({', '.join(filter(None, details))}) {attempt['error']}".rstrip()
    )


def _owner(attempt: Fields) -> str:
    host, pid = [*attempt["worker"].rsplit("/", 2), ""][:2]
    return f"{host} pid {pid}, {attempt['how']} {age(attempt['at'])}"


def journal_lines(run: Fields) -> list[str]:
    """The steps of a run: when each came, since the run began, how long it took, and what it was."""
    began = run["startedAt"] or run["queuedAt"]
    lines: list[str] = []
    before = began
    for fields in run["journal"]:
        # Redis and workers date entries by different clocks, so times may seem to go back.
        at = max(before, fields.get("timestamp") or before)
        times = f"+{span(at - began)}".rjust(8) + span(at - before).rjust(7)
        first, *others = entry_lines(entry_of(fields)) or [""]
        lines += [f"{times}  {first}", *(f"{' ' * len(times)}  {line}" for line in others)]
        before = at
    return lines
