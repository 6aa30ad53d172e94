"""`ocw pairing` and `ocw sessions label` as whole processes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from openclaw_workers.domain.pairing import Subject
from tests.support.fleet import Fleet
from tests.support.ocw import Ocw

ADA, BOB = Subject("telegram", person_id="7"), Subject("telegram", person_id="8")


@pytest.fixture
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with Fleet(tmp_path_factory.mktemp("fleet")) as running:
        yield running


def test_people_are_let_in_by_code_or_name_and_out_again(fleet: Fleet) -> None:
    ocw, pairings = Ocw(fleet), fleet.stores.pairings
    assert ocw("pairing", "list").out == "nobody has written, and nobody was let in\n"
    code = pairings.request(ADA, name="Ada \x1b[31m", message_id="1")
    assert code is not None
    pairings.refuse(ADA, name="Ada", reason="not-paired", message_id="1")
    pairings.refuse(BOB, name="Bob", reason="not-allowed", message_id="1")
    pairings.refuse(Subject("telegram", group_id="-100"), name="Family", reason="groups-disabled", message_id="1")

    shown = ocw("pairing", "list").out
    assert re.search(rf"{code.code}\s+telegram:7\s+Ada\s.*ocw pairing approve {code.code}", shown)
    assert "\x1b" not in shown
    assert re.search(r"telegram:8\s+Bob\s+not-allowed\s+1\s.*ocw pairing approve telegram:8", shown)
    assert "set channels.telegram.groupPolicy to allowlist first" in shown
    assert shown.count("telegram:7") == 1, "who has a code is not listed as refused too"

    assert ocw("pairing", "approve", code.code.lower()).out.endswith("is let in as owner: every command and tool\n")
    second = ocw("pairing", "approve", "telegram:8")
    assert (second.code, "--share-session" in second.err) == (6, True)
    shared = ocw("pairing", "approve", "telegram:8", "--share-session", "--json")
    assert (shared.code, shared.json["owner"], shared.json["name"]) == (0, False, "Bob")
    assert ocw("pairing", "revoke", "telegram:8").out == "telegram:8 no longer has access\n"
    assert ocw("pairing", "revoke", "telegram:8").code == 5
    assert ocw("pairing", "approve", "ABCD2345").code == 5
    assert ocw("pairing", "approve", "what?").code == 2


def test_a_session_is_labelled_and_no_two_have_one_label(fleet: Fleet) -> None:
    ocw = Ocw(fleet)
    for session in ("notes", "other"):
        assert ocw("agent", "--session", session, "-m", "hi", "--no-wait").code == 0

    assert ocw("sessions", "label", "notes", "release notes").out == "agent:main:notes is labelled 'release notes'\n"
    assert ocw("sessions", "label", "other", "release notes").code == 6
    assert ocw("sessions", "show", "notes", "--json").json["row"]["label"] == "release notes"
    assert ocw("sessions", "label", "notes").code == 2
    assert ocw("sessions", "label", "notes", "--remove", "--json").json["label"] is None
    assert ocw("sessions", "label", "nothing", "x").code == 5
