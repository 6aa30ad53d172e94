"""Codes and names of people who ask to be let in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw_workers.domain.pairing import ALPHABET, Subject, as_code, new_code, parse_subject
from openclaw_workers.errors import BadInput


def test_a_code_has_eight_characters_that_nobody_confuses() -> None:
    codes = {new_code() for _ in range(200)}

    assert len(codes) == 200
    assert all(len(code) == 8 and set(code) <= set(ALPHABET) for code in codes)
    assert not set(ALPHABET) & set("01OI")


def test_a_code_may_be_typed_in_any_case() -> None:
    assert as_code(" abcd2345 ") == "ABCD2345"
    assert as_code("ABCD234O") is None
    assert as_code("ABCD234") is None


@pytest.mark.parametrize(
    ("text", "subject", "kind"),
    [
        ("telegram:7", Subject("telegram", person_id="7"), "person"),
        ("telegram/work:7", Subject("telegram", "work", "7"), "person"),
        ("telegram:group:-100", Subject("telegram", group_id="-100"), "group"),
        ("telegram/work:group:-100:7", Subject("telegram", "work", "7", "-100"), "member"),
    ],
)
def test_a_subject_is_written_and_read_the_same_way(text: str, subject: Subject, kind: str) -> None:
    assert parse_subject(text) == subject
    assert str(subject) == text
    assert subject.kind == kind


@pytest.mark.parametrize("text", ["", "7", "telegram", "telegram:", "telegram:group:", "telegram:7:8", "tele gram:7"])
def test_anything_else_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(BadInput) as refused:
        parse_subject(text)
    assert "telegram:group:<chat id>" in (refused.value.hint or "")


IDS = st.from_regex(r"-?[0-9A-Za-z]{1,8}", fullmatch=True).filter(lambda text: text != "group")


@given(IDS, st.sampled_from(["default", "work"]), st.one_of(st.just(""), IDS))
def test_no_two_subjects_have_one_name(person: str, account: str, group: str) -> None:
    subject = Subject("telegram", account, person, group)
    assert parse_subject(str(subject)) == subject
