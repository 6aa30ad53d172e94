"""Models, and keys of providers: which are paused, and ending a pause."""

from __future__ import annotations

from typing import Any

from ingress.api.models.inputs import Name
from ingress.api.table import Call, Input, NoInput
from openclaw_workers.queries.model_answers import keys_answer, models_answer, resume_keys, resumed_answer


class ResumeInput(Input):
    key: Name
    """PROVIDER or PROVIDER/PROFILE."""


def list_models(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return models_answer(call.context)


def list_keys(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    return keys_answer(call.context)


def resume(call: Call[NoInput, ResumeInput]) -> dict[str, Any]:
    return resumed_answer(*resume_keys(call.context, call.body.key))
