"""The line after a reply that says what it took, for sessions that have it switched on."""

from __future__ import annotations

from openclaw_workers.domain.runs import Run


def usage_line(run: Run, level: str | None) -> str:
    """Nothing at level off; tokens; with `full` also cost, model and how long it took."""
    if level in (None, "", "off") or not run.usage.total:
        return ""
    usage = run.usage
    said = [f"{usage.input:,} tokens in, {usage.output:,} out"]
    if usage.cache_read or usage.cache_write:
        said.append(f"cache {usage.cache_read:,} read, {usage.cache_write:,} written")
    if level == "full":
        said += [f"${run.cost:.4f}"] if run.cost else []
        said += [run.model] if run.model else []
        took = (run.ended_at or 0) - (run.started_at or 0)
        said += [f"{took / 1000:.1f} s"] if run.ended_at and run.started_at else []
    return ", ".join(said)
