"""What is done about a session that nobody uses, as JSON."""

from __future__ import annotations

from typing import Any

from openclaw_workers.domain.maintenance import Finding


def finding_json(finding: Finding) -> dict[str, Any]:
    """docs/cli.md describes the fields."""
    return {
        "sessionKey": finding.session,
        "action": finding.decision.action,
        "reason": finding.decision.reason,
        "why": finding.decision.why,
        "updatedAt": finding.updated_at,
        "done": finding.is_done,
    }
