"""A sub-agent's run as text, with the delivery of its result, from the same fields as its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openclaw_workers.cli.render.branches import short
from openclaw_workers.cli.render.runs import duration, host_of, run_lines
from openclaw_workers.cli.render.text import age, short_ids, short_key, table
from openclaw_workers.domain.tree import BatchState

Fields = Mapping[str, Any]


def delivery_word(state: str | None, tries: int | None) -> str:
    """The state of the announce, for a column of a table."""
    match state:
        case None | BatchState.RUNNING:
            return ""
        case BatchState.SETTLED:
            return f"pending, {tries} failed" if tries else "pending"
    return state


def subagent_table(found: Sequence[Fields]) -> str:
    """Runs under the numbers by which other commands take them."""
    head = ("#", "LABEL", "STATE", "RESULT", "PARENT", "HOST", "TOKENS", "TOOK", "RUN")
    names = short_ids([each["runId"] for each in found])
    rows = [
        (
            each["number"],
            short(each["label"] or ""),
            each["state"],
            _delivery_word(each["delivery"]),
            f"#{each['parentNumber']}" if each["parentNumber"] else short_key(each["requesterSessionKey"]),
            host_of(each),
            each["usage"]["total"],
            duration(each),
            names[each["runId"]],
        )
        for each in found
    ]
    return table(head, rows, right=("#", "TOKENS", "TOOK"), cut=("PARENT", "LABEL", "HOST"))


def _delivery_word(delivery: Fields | None) -> str:
    return delivery_word(delivery["state"], delivery["tries"]) if delivery else ""


def tree_details(run: Fields) -> list[tuple[str, object]]:
    """Where a sub-agent's run stands in its tree; nothing for other runs."""
    if run["batch"] is None:
        return []
    delivery = run["delivery"]
    return [
        ("label", run["label"]),
        ("task", run["task"]),
        ("spawned by", f"{run['parentRunId']} in {run['requesterSessionKey']}"),
        ("depth", f"{run['depth']} ({run['role']})" if run["role"] else run["depth"]),
        ("outcome", f"{run['outcome']} ({run['endedReason']})" if run["outcome"] else None),
        ("result", _delivery_line(run, delivery) if delivery else ""),
        ("batch", f"{run['batch']}, {delivery['mode']}" if delivery else run["batch"]),
        ("metadata", run["metadata"]),
    ]


def subagent_details(subagent: Fields) -> list[tuple[str, object]]:
    """Name and value of each line that `ocw subagents info` prints."""
    run = {**subagent, "sessionKey": subagent["childSessionKey"], "queuedAt": subagent["createdAt"]}
    first, *others = run_lines(run)
    controller, partial = run["controllerSessionKey"], run["partialResultText"]
    return [
        first,
        *tree_details(run),
        *others,
        ("controller", controller if controller != run["requesterSessionKey"] else None),
        ("mode", f"{run['spawnMode']}, cleanup {run['cleanup']}, deliver {'yes' if run['deliver'] else 'no'}"),
        ("said", run["text"] if run["outcome"] == "ok" or not partial else partial),
        ("thread", run["threadId"]),
    ]


def _delivery_line(run: Fields, delivery: Fields) -> str:
    """Whether the parent has the result, and what to do about one that cannot be delivered."""
    state, tries = delivery["state"], delivery["tries"]
    if state == BatchState.RUNNING and run["settledAt"] is None:
        return "not there yet"
    error = f" after {tries} tries: {delivery['lastError']}" if delivery["lastError"] and tries else ""
    lines: dict[str, str] = {
        BatchState.RUNNING: f"waits for the others of its batch of {len(delivery['members'])}",
        BatchState.SETTLED: f"pending{error}",
        BatchState.BLOCKED: f"blocked{error}; `ocw subagents retry {delivery['batch']}` tries again",
        BatchState.DELIVERED: f"delivered to {delivery['sessionKey']} {age(delivery['announcedAt'])}",
    }
    return lines.get(state, str(state))
