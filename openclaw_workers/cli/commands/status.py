"""`ocw status`: workers, lanes, queues and leases of the whole installation."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import click

from openclaw_workers.cli.commands.damaged import tell_damaged
from openclaw_workers.cli.context import CliContext, pass_cli
from openclaw_workers.cli.find.sessions import overview, trees
from openclaw_workers.cli.output import echo_json, json_option, now_ms, printable, span, table
from openclaw_workers.domain.runs import Lane
from openclaw_workers.domain.tree import Batch, BatchState
from openclaw_workers.engine.wake import lane_of
from openclaw_workers.store.overview import HeldLease
from openclaw_workers.store.server_settings import unsafe_settings
from openclaw_workers.store.workers import WorkerInfo


@click.command(
    epilog="""\b
Examples:
  ocw status
  ocw status --json | jq '.workers[] | {host, pid, lane, runs}'
  ocw status --damaged
"""
)
@click.option("--damaged", is_flag=True, help="List the records that could not be read instead, and what to do.")
@json_option
@pass_cli
def status(cli: CliContext, damaged: bool) -> None:
    """Show workers, lanes, queues and leases."""
    if damaged:
        tell_damaged(cli)
        return
    held = overview(cli).held()
    workers = [_worker(info, held) for info in cli.stores.workers.all()]
    lanes = _lanes(cli, workers, held)
    leases = [_lease(each) for each in held]
    totals = overview(cli).totals()
    totals |= {"workers": sum(worker["alive"] for worker in workers), "waiting": sum(lane["waiting"] for lane in lanes)}
    undelivered = trees(cli).undelivered()
    blocked = [batch for batch in undelivered if batch.state is BatchState.BLOCKED]
    totals |= {"pendingAnnounces": len(undelivered) - len(blocked), "blockedAnnounces": len(blocked)}
    waiting = cli.stores.archives.waiting()
    unsafe = unsafe_settings(cli.stores.redis)
    if cli.json:
        archives = [{"place": place, "archives": count} for place, count in sorted(waiting.items())]
        told = {"workers": workers, "lanes": lanes, "leases": leases, "waitingArchives": archives, "totals": totals}
        told["unsafeSettings"] = unsafe
        echo_json({"ok": True, "at": now_ms(), **told})
        return
    click.echo(_workers_text(workers))
    click.echo("\n" + _lanes_text(lanes))
    if leases:
        click.echo("\n" + _leases_text(leases))
    counts = ", ".join(f"{totals[name]} {name}" for name in ("sessions", "runs", "running", "waiting"))
    click.echo(f"\n{counts}")
    if totals["quarantined"]:
        click.echo(f"{totals['quarantined']} damaged record(s) set aside; `ocw status --damaged` lists them")
    if undelivered:
        click.echo(_announces_text(totals, blocked))
    for place, count in sorted(waiting.items()):
        click.echo(printable(f"{count} archive(s) wait for a worker at {place}, where the rest of them lies"))
    for setting, what in unsafe.items():
        click.echo(f"Redis has {setting} {what}")


def _announces_text(totals: dict[str, int], blocked: list[Batch]) -> str:
    """Results of sub-agents on their way, and those that do not get through."""
    lines = [f"{totals['pendingAnnounces']} announces pending, {totals['blockedAnnounces']} blocked"]
    for batch in blocked:
        why = f"{batch.id} for {batch.parent_session}: {printable(batch.last_error)}"
        lines.append(f"blocked: {why}; `ocw subagents retry {batch.id}` tries again")
    return "\n".join(lines)


def _worker(info: WorkerInfo, held: list[HeldLease]) -> dict[str, Any]:
    host, pid = [*info.id.rsplit("/", 2), ""][:2]
    facts = info.facts
    return {
        "id": info.id,
        "host": host,
        "pid": _number(pid),
        "lane": facts.get("lane", ""),
        "concurrency": _number(facts.get("concurrency")),
        "pool": facts.get("pool", ""),
        "alive": info.alive,
        "draining": facts.get("drain") == "1",
        "startedAt": _number(facts.get("started_at")) or None,
        "beatAt": info.beat_at,
        "runs": [each.run for each in held if each.worker == info.id],
    }


def _number(raw: str | None) -> int:
    return int(raw) if raw and raw.isdecimal() else 0


def _lanes(cli: CliContext, workers: list[dict[str, Any]], held: list[HeldLease]) -> list[dict[str, Any]]:
    view = overview(cli)
    waiting: defaultdict[Lane, int] = defaultdict(int)
    oldest: dict[Lane, int] = {}
    for each in view.waiting():
        lane = lane_of(each.session)
        waiting[lane] += each.messages
        if each.oldest_at is not None:
            oldest[lane] = min(each.oldest_at, oldest.get(lane, each.oldest_at))
    lanes = []
    for lane in Lane:
        queue = view.queue(lane)
        on_lane = [worker for worker in workers if worker["alive"] and lane in worker["lane"].split(",")]
        lanes.append(
            {
                "lane": lane,
                "workers": len(on_lane),
                "concurrency": sum(worker["concurrency"] for worker in on_lane),
                "running": sum(lane_of(each.session) is lane for each in held),
                "queued": queue.wakes,
                "cap": cli.stores.caps.get(lane) or None,
                "slots": queue.slots,
                "line": queue.line,
                "waiting": waiting[lane],
                "oldestWaitingAt": oldest.get(lane),
            }
        )
    return lanes


def _lease(held: HeldLease) -> dict[str, Any]:
    return {
        "sessionKey": held.session,
        "runId": held.run,
        "worker": held.worker,
        "attempt": held.attempt,
        "leaseLeftMs": held.lease_left_ms,
        "takenAt": held.taken_at,
    }


def _workers_text(workers: list[dict[str, Any]]) -> str:
    if not workers:
        return "no workers; start some with `ocw up`, or one with `ocw worker --lane main`"
    head = ("HOST", "PID", "LANE", "POOL", "STATE", "RUNNING", "UP")
    rows = []
    for worker in sorted(workers, key=lambda each: (each["host"], each["lane"], each["pid"])):
        state = "leaving" if worker["draining"] else "alive"
        if not worker["alive"]:
            state = f"silent for {span(now_ms() - worker['beatAt'])}"
        up = span(now_ms() - worker["startedAt"]) if worker["startedAt"] else None
        running = f"{len(worker['runs'])}/{worker['concurrency']}"
        rows.append((worker["host"], worker["pid"], worker["lane"], worker["pool"], state, running, up))
    return table(head, rows, right=("PID", "RUNNING", "UP"))


def _lanes_text(lanes: list[dict[str, Any]]) -> str:
    head = ("LANE", "WORKERS", "RUNNING", "QUEUED", "CAP", "IN LINE", "WAITING", "OLDEST")
    rows = []
    for lane in lanes:
        cap = f"{lane['slots']}/{lane['cap']}" if lane["cap"] else "none"
        oldest = span(now_ms() - lane["oldestWaitingAt"]) if lane["oldestWaitingAt"] else None
        numbers = (lane["workers"], f"{lane['running']}/{lane['concurrency']}", lane["queued"], cap, lane["line"])
        rows.append((lane["lane"], *numbers, lane["waiting"], oldest))
    return table(head, rows, right=head[1:])


def _leases_text(leases: list[dict[str, Any]]) -> str:
    head = ("RUNNING SESSION", "RUN", "WORKER", "FOR", "LEASE LEFT")
    rows = [
        (lease["sessionKey"], lease["runId"], lease["worker"].rpartition("/")[0], span(now_ms() - lease["takenAt"]))
        + (span(lease["leaseLeftMs"]) if lease["leaseLeftMs"] > 0 else "over",)
        for lease in leases
    ]
    return table(head, rows, right=("FOR", "LEASE LEFT"))
