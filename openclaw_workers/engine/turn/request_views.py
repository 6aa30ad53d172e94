"""How a conversation is kept within the window of each model that a turn may call."""

from __future__ import annotations

from collections.abc import Callable

from openclaw_workers.agent.context.compaction import Context
from openclaw_workers.agent.context.request_view import RequestView
from openclaw_workers.agent.model.calibration import Calibration
from openclaw_workers.agent.model.candidates import Candidate
from openclaw_workers.agent.model.tokens import estimator_for
from openclaw_workers.agent.turn_setup import TurnSetup
from openclaw_workers.config.context import CompactionSettings, MemoryFlushSettings
from openclaw_workers.config.resolve import AgentConfig
from openclaw_workers.domain.tree import Role

_NO_FLUSH = {"memory_flush": MemoryFlushSettings(enabled=False)}

ViewOf = Callable[[Candidate], RequestView | None]
"""The view for one model; None for a model that cannot summarise."""


def request_views(agent: AgentConfig, frame: TurnSetup, role: Role, calibration: Calibration) -> ViewOf:
    """Views are built when first asked for: most turns call one model only."""
    made: dict[str, RequestView | None] = {}
    # A sub-agent reports in its answer. The memory belongs to the main conversation, and many would write to it.
    rules = agent.compaction if role is Role.MAIN else agent.compaction.model_copy(update=_NO_FLUSH)

    def view_of(candidate: Candidate) -> RequestView | None:
        if candidate.name not in made:
            made[candidate.name] = _view(agent, frame, candidate, rules, calibration)
        return made[candidate.name]

    return view_of


def _view(
    agent: AgentConfig,
    frame: TurnSetup,
    candidate: Candidate,
    compaction: CompactionSettings,
    calibration: Calibration,
) -> RequestView | None:
    if not candidate.provider.can_summarise:
        return None
    estimator = estimator_for(candidate, calibration)
    tokens = estimator.frame(frame.whole_system, frame.specs)
    window = candidate.provider.context_window(candidate.model)
    context = Context(min(window, agent.context_tokens or window), tokens, estimator)
    return RequestView(context, compaction, agent.context_pruning)
