"""Defaults of sections are made without validation, so that importing the settings builds no validators."""

from __future__ import annotations

from openclaw_workers.config.base import Section
from openclaw_workers.config.settings import Settings


def test_a_default_that_was_not_validated_is_what_validation_makes() -> None:
    def sections(value: Section) -> list[Section]:
        inner = [getattr(value, name) for name in type(value).model_fields]
        return [value, *(one for each in inner if isinstance(each, Section) for one in sections(each))]

    found = sections(Settings.model_construct())

    assert len(found) > 50
    for each in found:
        assert each == type(each)()
