"""Entries are converted for the wire once, and their form is kept with them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from openclaw_workers.domain.transcript import Attachment, TextBlock, TranscriptEntry, UserEntry
from openclaw_workers.providers.wire_form import body, wire_forms
from tests.unit.providers.offline_conversation import user


class Converter:
    """Counts what it converts."""

    def __init__(self) -> None:
        self.converted: list[TranscriptEntry] = []

    def __call__(self, entry: UserEntry) -> list[dict[str, Any]]:
        self.converted.append(entry)
        return [{"said": entry.content[0].text}, {"size": len(entry.content)}]


@pytest.fixture
def convert() -> Converter:
    return Converter()


def test_an_entry_is_converted_once(convert: Converter) -> None:
    entries: list[TranscriptEntry] = [user("one"), user("zwölf")]
    first = wire_forms(entries, "m", convert)
    assert wire_forms([*entries, user("three")], "m", convert)[:2] == first
    assert [entry.content[0].text for entry in convert.converted if isinstance(entry, UserEntry)] == [
        "one",
        "zwölf",
        "three",
    ]
    assert first == [b'{"said":"one"},{"size":1}', '{"said":"zwölf"},{"size":1}'.encode()]


def test_another_model_has_a_form_of_its_own(convert: Converter) -> None:
    entry = user("one")
    for form in ("m", "n", "n"):
        wire_forms([entry], form, convert)
    assert len(convert.converted) == 2


def test_an_entry_with_files_is_converted_each_time(convert: Converter) -> None:
    """They may be gone, or be withheld, by the next call."""
    file = Attachment(name="a.png", mime_type="image/png", path="a.png")
    entry = UserEntry(content=[TextBlock(text="see")], attachments=[file])
    for _ in range(2):
        wire_forms([entry], "m", convert)
    assert len(convert.converted) == 2


def test_what_is_kept_is_no_part_of_the_entry(convert: Converter) -> None:
    entry = user("one")
    wire_forms([entry], "m", convert)
    assert entry == user("one")
    assert entry.model_dump() == user("one").model_dump()


def test_a_body_is_one_json_object() -> None:
    made = body({"model": "m"}, messages=[b'{"a":1},{"b":2}', b"", b'{"c":3}'], tools=[b'{"d":4}'])
    assert json.loads(made) == {"messages": [{"a": 1}, {"b": 2}, {"c": 3}], "tools": [{"d": 4}], "model": "m"}


def test_what_is_no_text_is_refused_as_by_the_sdks(convert: Converter) -> None:
    with pytest.raises(ValueError, match="surrogates"):
        wire_forms([user("half \ud83d")], "m", convert)
