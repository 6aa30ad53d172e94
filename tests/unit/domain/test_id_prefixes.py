"""Ids as people write them."""

from __future__ import annotations

import pytest

from openclaw_workers.domain.id_prefixes import pick_id
from openclaw_workers.errors import BadInput

NEWEST_FIRST = ["job-77aa01", "job-77ab02", "report-1a2b3c"]


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("job-77ab02", "job-77ab02"),
        ("job-77ab", "job-77ab02"),
        ("77ab", "job-77ab02"),
        ("rep", "report-1a2b3c"),
        ("1a2", "report-1a2b3c"),
        ("last", "job-77aa01"),
        ("re", "re"),
        ("nothing", "nothing"),
    ],
)
def test_an_id_is_found_whole_by_its_beginning_or_as_the_newest(wanted: str, meant: str) -> None:
    assert pick_id(wanted, NEWEST_FIRST) == meant


def test_a_beginning_of_several_is_refused_and_names_them() -> None:
    with pytest.raises(BadInput, match="several ids begin with 77a: job-77aa01, job-77ab02"):
        pick_id("77a", NEWEST_FIRST)


def test_an_id_called_last_is_meant_before_the_newest() -> None:
    assert pick_id("last", ["job-1", "last"]) == "last"
    assert pick_id("last", []) == "last"
