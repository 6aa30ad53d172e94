"""The usage line after a reply, for sessions that have it switched on."""

from __future__ import annotations

from openclaw_workers.domain.runs import Run


def usage_line(run: Run, level: str | None) -> str:
    """The tokens of a run; at level `full` also cost, model and duration; nothing at level `off`."""
    if level in (None, "", "off") or not run.usage.total:
        return ""
    usage = run.usage
    parts = [f"{usage.input:,} tokens in, {usage.output:,} out"]
    if usage.cache_read or usage.cache_write:
        parts.append(f"cache {usage.cache_read:,} read, {usage.cache_write:,} written")
    if level == "full":
        parts += [f"${run.cost:.4f}"] if run.cost else []
        parts += [run.model] if run.model else []
        took = (run.ended_at or 0) - (run.started_at or 0)
        parts += [f"{took / 1000:.1f} s"] if run.ended_at and run.started_at else []
    return ", ".join(parts)
