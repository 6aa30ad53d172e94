"""What `ocw doctor` finds, from the answers of other queries: each finding with the command that fixes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

Answer = Mapping[str, Any]
State = Literal["ok", "warning", "error"]

CLOCK_MS = 5_000
FREE_BYTES = 1 << 30
OLD_QUEUE_MS = 60_000
_REFUSED = ("auth", "auth_permanent")
WITH_VARIABLE = ("anthropic", "openai")
"""Providers whose key may also come from a variable, which `ocw init` sets."""


@dataclass(frozen=True, slots=True)
class Finding:
    check: str
    state: State
    message: str
    fix: str = ""
    """The command, or what else to do; empty where nothing is wrong."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def redis_findings(status: Answer) -> Iterator[Finding]:
    for name, why in status["unsafeSettings"].items():
        value = why.partition("set ")[2].partition(",")[0]
        fix = f'redis-cli -u "$REDIS_URL" CONFIG SET {name} {value}, then CONFIG REWRITE to keep it'
        yield Finding("redis", "warning", f"{name} is {why}", fix)
    if not status["unsafeSettings"]:
        yield Finding("redis", "ok", "Redis answers, and its settings keep accepted messages")


def takes_turns(status: Answer, lane: str) -> bool:
    """Whether any worker takes turns of the lane now."""
    return any(not each["draining"] and not each["refusal"] for each in _alive(status, lane))


def _alive(status: Answer, lane: str) -> list[Answer]:
    return [each for each in status["workers"] if each["alive"] and lane in each["lane"].split(",")]


def worker_findings(status: Answer) -> Iterator[Finding]:
    for lane in status["lanes"]:
        name, since = lane["lane"], lane["oldestWaitingAt"]
        oldest = status["at"] - since if since else 0
        there = _alive(status, name)
        if not lane["workers"]:
            yield Finding("lanes", "error", f"no worker serves lane {name}", f"ocw up, or ocw worker --lane {name}")
        elif there and not takes_turns(status, name):
            drained = sorted({each["host"] for each in there if each["draining"]})
            fix = ", ".join(f"ocw undrain {host}" for host in drained) or "what is named below"
            yield Finding("lanes", "error", f"all workers of lane {name} are drained or take no turns", fix)
        elif oldest > OLD_QUEUE_MS:
            yield Finding(
                "lanes",
                "warning",
                f"lane {name} has kept work waiting for {oldest // 1000} s",
                f"ocw worker --lane {name}, for more of it at once",
            )
        else:
            yield Finding("lanes", "ok", f"lane {name} has {lane['workers']} worker(s)")
    for worker in status["workers"]:
        if not worker["alive"]:
            what = f"worker {worker['id']} of lane {worker['lane']} died; others have its work"
            fix = f"ocw logs --process worker-{worker['lane']} on {worker['host']} says why"
            yield Finding("workers", "warning", what, fix)
    for result in status["blockedResults"]:
        command = f"ocw subagents retry {result['batch']}"
        yield Finding("results", "warning", f"results for {result['sessionKey']} are blocked", command)
    if not status["ingress"]["url"]:
        yield Finding("ingress", "warning", "no ingress is running", "ocw up, or ocw ingress")


def drift_findings(status: Answer) -> Iterator[Finding]:
    """Workers that do not use what is published, or not the code of the others."""
    alive = [worker for worker in status["workers"] if worker["alive"]]
    found = [*_worker_drift(alive, (status["configuration"] or {}).get("version")), *_code_drift(alive)]
    agreed = Finding("drift", "ok", "all workers use the same code and the configuration in force")
    yield from found or ([agreed] if alive else [])


def _worker_drift(alive: Sequence[Answer], version: int | None) -> Iterator[Finding]:
    for worker in alive:
        host, name = worker["host"], f"{worker['host']}/{worker['pid']}"
        if worker["refusal"] and not worker["missing"]:
            fix = f"update OpenClaw Workers on {host}, or ocw config rollback"
            yield Finding("drift", "error", f"{name} takes no turns: {worker['refusal']}", fix)
        elif worker["localConfig"]:
            what = f"{name} uses a file of its host, not the configuration in force"
            yield Finding("drift", "warning", what, "start it without --local-config")
        elif worker["configVersion"] != version:
            what = f"{name} still uses configuration {worker['configVersion']}; {version} is in force"
            yield Finding("drift", "warning", what, f"ocw logs on {host} says why")
        if worker["restartPending"]:
            what = f"{name} uses these only after a restart: {', '.join(worker['restartPending'])}"
            yield Finding("drift", "warning", what, f"ocw down and ocw up on {host}, or restart its service")
    for host, *names in sorted({(worker["host"], *worker["missing"]) for worker in alive if worker["missing"]}):
        fix = "add it to .env of the state directory there, then restart its workers"
        yield Finding("drift", "error", f"{host} lacks {', '.join(names)}", fix)


def _code_drift(alive: Sequence[Answer]) -> Iterator[Finding]:
    hosts: dict[str, set[str]] = {}
    for worker in alive:
        hosts.setdefault(worker["codeVersion"], set()).add(worker["host"])
    if len(hosts) < 2:
        return
    versions = sorted(hosts, key=lambda version: [int(part) for part in re.findall(r"\d+", version)])
    shown = ", ".join(f"{version} on {' and '.join(sorted(hosts[version]))}" for version in versions)
    old = ", ".join(sorted(set().union(*(hosts[version] for version in versions[:-1]))))
    yield Finding("drift", "warning", f"workers run different versions: {shown}", f"update OpenClaw Workers on {old}")


def file_findings(source: str, version: int | None) -> Iterator[Finding]:
    """The file of this host has been changed, but is not published."""
    yield Finding(
        "drift", "warning", f"{source} differs from configuration {version}, which is in force", "ocw config apply"
    )


def place_findings(status: Answer) -> Iterator[Finding]:
    """Agents whose files not every host sees."""
    for each in status["places"]:
        agent, where = each["agentId"], each["where"] or "an unknown host"
        if each["moving"]:
            yield Finding(
                "places", "warning", f"the files of agent {agent} are being moved", f"ocw agents move {agent} shows it"
            )
        elif not each["served"]:
            what = f"no worker takes turns at {where}, where the files of agent {agent} are"
            yield Finding("places", "error", what, place_fix(each, status["workers"]))
        for host in each["hostsWithout"]:
            what = f"{host} cannot serve agent {agent}: its files are at {where}"
            fix = f"share that directory with {host}, or leave it so: other hosts run its turns"
            yield Finding("places", "warning", what, fix)


def place_fix(place: Answer, workers: Sequence[Answer]) -> str:
    """What to do about a place where no worker takes turns."""
    host = (place["where"] or "").partition(":")[0]
    is_drained = any(each["alive"] and each["draining"] and each["host"] == host for each in workers)
    start = f"ocw undrain {host}" if is_drained else "ocw up there"
    return f"{start}, or ocw agents move {place['agentId']} --to HOST"


def key_findings(keys: Answer, models: Answer) -> Iterator[Finding]:
    for key in keys["profiles"]:
        if key["paused"]:
            name = f"{key['provider']}/{key['profile']}"
            left = f"for another {key['leftMs'] // 1000} s"
            again = f"ocw models resume {name}"
            fix = f"ocw init sets another key; {again} tries this one again" if key["reason"] in _REFUSED else again
            yield Finding("keys", "warning", f"{name} is in cooldown {left} ({key['reason']})", fix)
    for model in models["models"]:
        if model["agents"] and not model["hasKey"]:
            provider = model["model"].partition("/")[0]
            agents = ", ".join(model["agents"])
            yield Finding(
                "keys",
                "error",
                f"agent {agents} uses {model['model']}, and there is no key for {provider}",
                f"ocw init, or set {provider.upper()}_API_KEY"
                if provider in WITH_VARIABLE
                else f"ocw config set models.providers.{provider}.apiKey",
            )
    if str(models["default"]).startswith("offline/"):
        what = "agents answer with the built-in offline model"
        yield Finding("keys", "warning", what, "ocw init, or set models.providers")


def damage_findings(damaged: Answer) -> Iterator[Finding]:
    if count := len(damaged["damaged"]):
        yield Finding("records", "warning", f"{count} damaged record(s) are in quarantine", "ocw status --damaged")


def machine_findings(free_bytes: int, state_dir: str, clock_off_ms: int) -> Iterator[Finding]:
    if free_bytes < FREE_BYTES:
        yield Finding("disk", "error", f"{free_bytes >> 20} MB are free under {state_dir}", "make room there")
    else:
        yield Finding("disk", "ok", f"{free_bytes >> 30} GB are free under {state_dir}")
    if abs(clock_off_ms) > CLOCK_MS:
        how = "ahead of" if clock_off_ms > 0 else "behind"
        off = f"this machine's clock is {abs(clock_off_ms) / 1000:.0f} s {how} that of Redis"
        yield Finding("clock", "warning", off, "synchronise it, for example with chrony")
    else:
        yield Finding("clock", "ok", "this machine and Redis agree on the time")


def is_well(findings: Sequence[Finding]) -> bool:
    return all(each.state != "error" for each in findings)
