"""The model and the thinking level that a message asks for, for the turn it starts."""

from __future__ import annotations

from openclaw_workers.config.model_names import find_model
from openclaw_workers.config.settings import Settings
from openclaw_workers.engine.intake.commands.models import think


def checked_model(settings: Settings, name: str | None) -> str | None:
    """The full name of the model.

    Raises:
        BadInput: there is no such model.
    """
    return None if name is None else find_model(settings, name)


def checked_thinking(level: str | None) -> str | None:
    """The level that the word stands for.

    Raises:
        BadInput: it stands for none.
    """
    return None if level is None else think.checked(level)
