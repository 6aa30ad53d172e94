"""`ocw status` as text, from the same fields as its JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openclaw_workers.cli.render.text import age, printable, span, table
from openclaw_workers.clock import now_ms
from openclaw_workers.views.findings import place_fix


def status_text(status: Mapping[str, Any]) -> str:
    totals = status["totals"]
    parts = [_workers(status["workers"]), _lanes(status["lanes"])]
    if status["leases"]:
        parts.append(_leases(status["leases"]))
    lines = [", ".join(f"{totals[name]} {name}" for name in ("sessions", "runs", "running", "waiting"))]
    lines += _configuration(status)
    if totals["outboxUnsent"]:
        lines.append(f"{totals['outboxUnsent']} message(s) to chats unknown or failed; `ocw outbox list` shows them")
    if totals["quarantined"]:
        lines.append(f"{totals['quarantined']} damaged record(s) quarantined; `ocw status --damaged` lists them")
    if totals["pendingAnnounces"] or totals["blockedAnnounces"]:
        lines += _announces(totals, status["blockedResults"])
    lines += _places(status["places"], status["workers"])
    for each in status["waitingArchives"]:
        waits = f"{each['archives']} archive(s) wait for a worker at {each['place']}, which has their first part"
        lines.append(printable(waits))
    lines += [f"Redis has {setting} {what}" for setting, what in status["unsafeSettings"].items()]
    return "\n\n".join([*parts, "\n".join(lines)])


def _announces(totals: Mapping[str, int], blocked: Sequence[Mapping[str, Any]]) -> list[str]:
    """Results of sub-agents that are not delivered yet, and what blocks them."""
    lines = [f"{totals['pendingAnnounces']} announces pending, {totals['blockedAnnounces']} blocked"]
    for each in blocked:
        why = f"{each['batch']} for {each['sessionKey']}: {printable(each['error'])}"
        lines.append(f"blocked: {why}; `ocw subagents retry {each['batch']}` tries again")
    return lines


def _workers(workers: Sequence[Mapping[str, Any]]) -> str:
    if not workers:
        return "no workers; start some with `ocw up`, or one with `ocw worker --lane main`"
    head = ("HOST", "PID", "LANE", "POOL", "STATE", "RUNNING", "UP", "CONFIG", "CODE")
    rows = []
    for worker in sorted(workers, key=lambda each: (each["host"], each["lane"], each["pid"])):
        state = "drained" if worker["draining"] else "no turns" if worker["refusal"] else "alive"
        if not worker["alive"]:
            state = f"silent for {span(now_ms() - worker['beatAt'])}"
        up = span(now_ms() - worker["startedAt"]) if worker["startedAt"] else None
        running = f"{len(worker['runs'])}/{worker['concurrency']}"
        config = "local" if worker["localConfig"] else worker["configVersion"]
        first = (worker["host"], worker["pid"], worker["lane"], worker["pool"], state, running, up)
        rows.append((*first, config, worker["codeVersion"]))
    return table(head, rows, right=("PID", "RUNNING", "UP", "CONFIG"))


def _configuration(status: Mapping[str, Any]) -> list[str]:
    """The version in force, and what is wrong with it on single hosts."""
    current = status["configuration"]
    if current is None:
        lines = ["no configuration is published; `ocw config apply` publishes one"]
    else:
        lines = [f"configuration {current['version']}, published by {printable(current['by'])} {age(current['at'])}"]
    alive = [worker for worker in status["workers"] if worker["alive"]]
    for worker in alive:
        name = f"{worker['host']}/{worker['pid']}"
        if worker["refusal"]:
            lines.append(printable(f"{name} takes no turns: {worker['refusal']}"))
        if worker["restartPending"]:
            lines.append(f"{name} uses these only after a restart: {', '.join(worker['restartPending'])}")
    missing = {(worker["host"], *worker["missing"]) for worker in alive if worker["missing"]}
    lines += [f"{host} lacks {', '.join(names)}" for host, *names in sorted(missing)]
    return lines


def _places(places: Sequence[Mapping[str, Any]], workers: Sequence[Mapping[str, Any]]) -> list[str]:
    """Agents whose files not every host sees."""
    lines = []
    for each in places:
        agent, where = each["agentId"], printable(each["where"] or "an unknown host")
        waiting = f"; {each['waiting']} session(s) wait" if each["waiting"] else ""
        if each["moving"]:
            lines.append(f"the files of agent {agent} are being moved{waiting}; `ocw agents move {agent}` shows it")
        elif not each["served"]:
            lines.append(
                f"no worker takes turns at {where}, where the files of agent {agent} are{waiting}; "
                f"fix: {printable(place_fix(each, workers))}"
            )
        if each["hostsWithout"]:
            hosts = ", ".join(each["hostsWithout"])
            lines.append(f"{hosts} cannot serve agent {agent}: its files are at {where}")
    return lines


def _lanes(lanes: Sequence[Mapping[str, Any]]) -> str:
    head = ("LANE", "WORKERS", "RUNNING", "QUEUED", "CAP", "IN LINE", "WAITING", "OLDEST")
    rows = []
    for lane in lanes:
        cap = f"{lane['slots']}/{lane['cap']}" if lane["cap"] else "none"
        oldest = span(now_ms() - lane["oldestWaitingAt"]) if lane["oldestWaitingAt"] else None
        numbers = (lane["workers"], f"{lane['running']}/{lane['concurrency']}", lane["queued"], cap, lane["line"])
        rows.append((lane["lane"], *numbers, lane["waiting"], oldest))
    return table(head, rows, right=head[1:])


def _leases(leases: Sequence[Mapping[str, Any]]) -> str:
    head = ("RUNNING SESSION", "RUN", "WORKER", "FOR", "LEASE LEFT")
    rows = [
        (
            lease["sessionKey"],
            lease["runId"],
            lease["worker"].rpartition("/")[0],
            span(now_ms() - lease["takenAt"]),
            span(lease["leaseLeftMs"]) if lease["leaseLeftMs"] > 0 else "expired",
        )
        for lease in leases
    ]
    return table(head, rows, right=("FOR", "LEASE LEFT"))
