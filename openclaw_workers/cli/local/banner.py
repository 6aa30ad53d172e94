"""What `ocw up` prints when everything is ready, as text and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openclaw_workers.cli.local import flower
from openclaw_workers.cli.local.answering_model import AnsweringModel
from openclaw_workers.cli.local.saved_endpoint import SavedEndpoint
from openclaw_workers.redaction import mask_secrets
from openclaw_workers.state_dir import Runtime
from openclaw_workers.store.browser_logins import CODE_SECONDS

NOT_YET = "not reached yet; `ocw channels status` shows why"
OFFLINE_NOTICE = "Agents answer with the built-in model {model}. `ocw init` sets a real one up."


def as_text(
    runtime: Runtime,
    state_dir: Path,
    *,
    answering: AnsweringModel,
    unsafe: Mapping[str, str],
    refusals: Sequence[str],
    show_password: bool,
    login_url: str | None,
    bots: Mapping[str, str | None],
    next_command: str,
    to_stop: str | None,
) -> str:
    key = f"  (key: {answering.key})" if answering.key else ""
    rows = [
        ("Model", f"{answering.model}{key}"),
        ("Config", answering.configuration),
        ("Redis", mask_secrets(runtime.redis_url)),
        ("State", str(state_dir)),
        ("Logs", f"{state_dir}/logs"),
    ]
    if runtime.flower_url:
        kept = state_dir / "flower.json"
        password = _flower_password(kept) if show_password else f"in {kept}"
        rows.insert(0, ("Flower", f"{runtime.flower_url}  (user {flower.USER}, password {password})"))
    if runtime.ingress_url:
        rows.insert(0, ("Web", runtime.ingress_url))
    if login_url:
        rows.insert(1, ("Log in", f"{login_url}  (once, within {CODE_SECONDS // 60} minutes)"))
    rows += [(name.capitalize(), address or NOT_YET) for name, address in bots.items()]
    lines = ["OpenClaw Workers is up.", "", *(f"  {name:<8} {value}" for name, value in rows), ""]
    if answering.is_offline:
        lines += [f"  {OFFLINE_NOTICE.format(model=answering.model)}", ""]
    if unsafe:
        lines += [*(f"  Redis has {setting} {what}." for setting, what in unsafe.items()), ""]
    if refusals:
        lines += [*(f"  The workers here take no turns: {why}." for why in refusals), ""]
    if to_stop is None:
        lines += [f"  Next, in a second terminal:  {next_command}", "  Ctrl-C stops everything; the state is kept."]
    else:
        lines += [f"  Next:     {next_command}", f"  To stop:  {to_stop}"]
    return "\n".join([*lines, ""])


def as_json(
    runtime: Runtime,
    state_dir: Path,
    *,
    answering: AnsweringModel,
    unsafe: Mapping[str, str],
    refusals: Sequence[str],
    login_url: str | None,
    bots: Mapping[str, str | None],
) -> dict[str, Any]:
    return {
        "ok": True,
        "pid": runtime.pid,
        "stateDir": str(state_dir),
        "redisUrl": mask_secrets(runtime.redis_url),
        "flowerUrl": runtime.flower_url,
        "ingressUrl": runtime.ingress_url,
        "loginUrl": login_url,
        "bots": dict(bots),
        "pids": runtime.pids,
        "startedAt": runtime.started_at,
        "model": answering.model,
        "keySource": answering.key or None,
        "configuration": answering.configuration,
        "offline": answering.is_offline,
        "unsafeSettings": dict(unsafe),
        "refusals": list(refusals),
    }


def _flower_password(path: Path) -> str:
    return SavedEndpoint.model_validate_json(path.read_bytes()).password
