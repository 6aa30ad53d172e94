"""Whether a command may run, by the settings alone."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw_workers.config.tools import ExecSettings
from openclaw_workers.engine.approvals.exec_rules import Verdict, exec_rules

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY


def verdict(given: dict[str, Any], *, is_private: bool = False, **about: bool) -> Verdict:
    rules = exec_rules(ExecSettings.model_validate(given), is_private=is_private)
    return rules.verdict(**{"matches": False, "is_preapproved": False, "is_obfuscated": False, **about})


def test_an_owners_direct_chat_runs_everything_and_other_places_ask() -> None:
    assert verdict({}, is_private=True) is ALLOW
    assert verdict({}) is ASK
    assert verdict({}, matches=True) is ALLOW


@pytest.mark.parametrize(
    ("given", "about", "expected"),
    [
        ({"security": "deny"}, {"matches": True, "is_preapproved": True}, DENY),
        ({"security": "full"}, {}, ALLOW),
        ({"security": "full", "ask": "always"}, {}, ASK),
        ({"security": "full", "ask": "always"}, {"is_preapproved": True}, ALLOW),
        ({"security": "allowlist", "ask": "off"}, {}, DENY),
        ({"security": "allowlist", "ask": "off"}, {"matches": True}, ALLOW),
        ({"security": "allowlist", "ask": "on-miss"}, {}, ASK),
        ({"security": "allowlist", "ask": "always"}, {"matches": True}, ASK),
        ({"security": "allowlist"}, {"is_preapproved": True}, ALLOW),
        ({"security": "allowlist"}, {"is_obfuscated": True, "matches": True, "is_preapproved": True}, DENY),
    ],
)
def test_security_and_ask_decide(given: dict[str, Any], about: dict[str, bool], expected: Verdict) -> None:
    assert verdict(given, **about) is expected


def test_a_written_security_asks_in_an_owners_direct_chat_too() -> None:
    assert verdict({"security": "allowlist"}, is_private=True) is ASK
    assert verdict({"security": "full"}, is_private=True) is ALLOW


@pytest.mark.parametrize(
    ("fallback", "matches", "expected"),
    [("deny", True, DENY), ("allowlist", True, ALLOW), ("allowlist", False, DENY), ("full", False, ALLOW)],
)
def test_if_nobody_answers_the_fallback_holds(fallback: str, matches: bool, expected: Verdict) -> None:
    rules = exec_rules(ExecSettings.model_validate({"askFallback": fallback}), is_private=False)

    assert rules.unanswered(matches=matches) is expected
