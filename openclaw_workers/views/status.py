"""The whole installation as JSON: workers, lanes, leases and totals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openclaw_workers.domain.runs import WORKER_LANES, Lane, lane_of, queue_of
from openclaw_workers.domain.tree import Batch, BatchState
from openclaw_workers.domain.worker_info import WorkerInfo
from openclaw_workers.store.configs import ConfigVersion
from openclaw_workers.store.ingresses import IngressInfo
from openclaw_workers.store.overview import HeldLease, Queue, Waiting
from openclaw_workers.store.places import BoundAgent


def status_json(
    *,
    workers: Sequence[WorkerInfo],
    held: Sequence[HeldLease],
    queues: Mapping[Lane, Queue],
    caps: Mapping[Lane, int],
    waiting: Sequence[Waiting],
    totals: Mapping[str, int],
    undelivered: Sequence[Batch],
    waiting_archives: Mapping[str, int],
    unsafe_settings: Mapping[str, str],
    ingresses: Sequence[IngressInfo],
    now_ms: int,
    configuration: ConfigVersion | None = None,
    places: Sequence[BoundAgent] = (),
) -> dict[str, Any]:
    """docs/cli.md describes the fields."""
    # In one order, so that a list that is looked at again does not jump.
    known = [worker_json(info, held) for info in sorted(workers, key=lambda info: info.id)]
    lanes = [
        lane_json(lane, queues[lane], cap=caps.get(lane) or None, workers=known, held=held, waiting=waiting)
        for lane in WORKER_LANES
    ]
    blocked = sum(batch.state is BatchState.BLOCKED for batch in undelivered)
    return {
        "at": now_ms,
        "configuration": configuration_json(configuration),
        "workers": known,
        "lanes": lanes,
        "leases": [lease_json(each) for each in held],
        "places": [place_json(each, known) for each in places],
        "waitingArchives": [{"place": place, "archives": count} for place, count in sorted(waiting_archives.items())],
        "totals": {
            **totals,
            "workers": sum(worker["alive"] for worker in known),
            "waiting": sum(lane["waiting"] for lane in lanes),
            "pendingAnnounces": len(undelivered) - blocked,
            "blockedAnnounces": blocked,
        },
        "blockedResults": [
            {"batch": batch.id, "sessionKey": batch.parent_session, "error": batch.last_error}
            for batch in undelivered
            if batch.state is BatchState.BLOCKED
        ],
        "unsafeSettings": dict(unsafe_settings),
        "ingress": ingress_json(ingresses),
    }


def place_json(bound: BoundAgent, workers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Where the files of an agent are, and which hosts cannot run its turns."""
    apart = {worker["host"] for worker in workers if worker["alive"] and bound.agent_id in worker["cannotServe"]}
    return {
        "agentId": bound.agent_id,
        "place": None if bound.is_moving else bound.place,
        "where": bound.where or None,
        "moving": bound.is_moving,
        "served": bound.is_seen,
        "seenAt": bound.seen_at,
        "waiting": bound.waiting,
        "hostsWithout": sorted(apart),
    }


def configuration_json(version: ConfigVersion | None) -> dict[str, Any] | None:
    """The configuration in force; None if none is published."""
    if version is None:
        return None
    return {"version": version.number, "at": version.document.at, "by": version.document.by}


def number_of(version_id: str) -> int | None:
    """The number of a version, by its id."""
    number = version_id.partition("-")[0]
    return int(number) if number.isdecimal() else None


def ingress_json(ingresses: Sequence[IngressInfo]) -> dict[str, Any]:
    """`url` is the address of one that serves now; None if none does."""
    processes = [
        {
            "id": info.id,
            "host": info.facts.get("host", ""),
            "pid": _number(info.facts.get("pid")),
            "url": info.url,
            "alive": info.alive,
            "startedAt": _number(info.facts.get("started_at")) or None,
            "beatAt": info.beat_at,
            "configVersion": number_of(info.facts.get("config", "")),
        }
        for info in ingresses
    ]
    return {"url": next((each["url"] for each in processes if each["alive"]), None), "processes": processes}


def worker_json(info: WorkerInfo, held: Sequence[HeldLease]) -> dict[str, Any]:
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
        "configVersion": number_of(facts.get("config", "")),
        "localConfig": facts.get("config") == "local",
        "codeVersion": facts.get("code", ""),
        "missing": facts.get("missing", "").split(),
        "refusal": facts.get("refusal") or None,
        "cannotServe": facts.get("cannot_serve", "").split(),
        "restartPending": facts.get("restart", "").split(),
    }


def lane_json(
    lane: Lane,
    queue: Queue,
    *,
    cap: int | None,
    workers: Sequence[Mapping[str, Any]],
    held: Sequence[HeldLease],
    waiting: Sequence[Waiting],
) -> dict[str, Any]:
    on_lane = [worker for worker in workers if worker["alive"] and lane in worker["lane"].split(",")]
    waiting_here = [each for each in waiting if queue_of(lane_of(each.session)) is lane]
    return {
        "lane": lane,
        "workers": len(on_lane),
        "concurrency": sum(worker["concurrency"] for worker in on_lane),
        "running": sum(queue_of(lane_of(each.session)) is lane for each in held),
        "queued": queue.wakes,
        "cap": cap,
        "slots": queue.slots,
        "line": queue.line,
        "waiting": sum(each.messages for each in waiting_here),
        "oldestWaitingAt": min((each.oldest_at for each in waiting_here if each.oldest_at is not None), default=None),
    }


def lease_json(held: HeldLease) -> dict[str, Any]:
    return {
        "sessionKey": held.session,
        "runId": held.run,
        "worker": held.worker,
        "attempt": held.attempt,
        "leaseLeftMs": held.lease_left_ms,
        "takenAt": held.taken_at,
    }


def _number(raw: str | None) -> int:
    return int(raw) if raw and raw.isdecimal() else 0
