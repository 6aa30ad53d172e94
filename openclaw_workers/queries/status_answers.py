"""The whole installation, and what it has spent, as JSON answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openclaw_workers.clock import now_ms
from openclaw_workers.config.resolve import agent_ids
from openclaw_workers.queries.usage_names import UsageNames
from openclaw_workers.store.configs import Configs
from openclaw_workers.store.ingresses import Ingresses
from openclaw_workers.store.llm.ledger import Total, totals
from openclaw_workers.store.server_settings import unsafe_settings
from openclaw_workers.views.status import status_json
from openclaw_workers.views.usage import total_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openclaw_workers.domain.ledger import Dimension
    from openclaw_workers.domain.tree import Batch
    from openclaw_workers.queries.installation import Installation


def status_fields(installation: Installation, undelivered: Sequence[Batch]) -> dict[str, Any]:
    """`undelivered`: the announces that wait, or that are blocked."""
    stores, overview = installation.stores, installation.overview
    configured = agent_ids(installation.loaded.settings)
    # The binding of an agent that was removed stays in Redis, and concerns nobody.
    bound = [each for each in stores.places.all() if each.agent_id in configured]
    return status_json(
        workers=stores.workers.all(),
        held=overview.held(),
        queues=overview.queues(),
        caps=stores.caps,
        waiting=overview.waiting(),
        totals=overview.totals(),
        undelivered=undelivered,
        waiting_archives=stores.archives.waiting(),
        unsafe_settings=unsafe_settings(stores.redis),
        ingresses=Ingresses(stores.redis, stores.keys).all(),
        now_ms=now_ms(),
        configuration=Configs(stores.redis, stores.keys).current(),
        places=bound,
    )


def usage_totals(
    installation: Installation, by: Dimension, days: int, agent: str | None = None
) -> tuple[list[Total], Total]:
    """Sums of model calls, and the sum of all."""
    calls = [call for call in installation.stores.ledger.calls(days) if agent in (None, call.agent)]
    sums = totals(calls, UsageNames(installation.stores.reader, by).name_of)
    # `totals` sorts by cost; days are read in order.
    if by == "day":
        sums.sort(key=lambda each: each.name)
    total = Total("total")
    for call in calls:
        total.add(call)
    return sums, total


def usage_answer(by: str, days: int, sums: list[Total], total: Total) -> dict[str, Any]:
    return {
        "ok": True,
        "by": by,
        "days": days,
        "usage": [total_json(each) for each in sums],
        "total": total_json(total),
    }
