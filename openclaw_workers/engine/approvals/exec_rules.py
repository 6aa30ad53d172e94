"""Whether a command may run: what the settings say, before anybody is asked."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from openclaw_workers.config.tools import ExecSettings

Security = Literal["deny", "allowlist", "full"]
Ask = Literal["off", "on-miss", "always"]


class Verdict(StrEnum):
    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class ExecRules:
    """What holds in one turn."""

    security: Security
    ask: Ask
    fallback: Security

    def verdict(self, *, matches: bool, is_preapproved: bool, is_obfuscated: bool) -> Verdict:
        """`matches`: the allow-list names every part of it. `is_preapproved`: this operation was allowed for a time."""
        if self.security == "deny":
            return Verdict.DENY
        if self.security == "allowlist" and is_obfuscated:
            return Verdict.DENY
        if is_preapproved:
            return Verdict.ALLOW
        if self.ask == "always":
            return Verdict.ASK
        if self.security == "full" or matches:
            return Verdict.ALLOW
        return Verdict.ASK if self.ask == "on-miss" else Verdict.DENY

    def unanswered(self, *, matches: bool) -> Verdict:
        """What happens if nobody answers in time."""
        if self.fallback == "full" or (self.fallback == "allowlist" and matches):
            return Verdict.ALLOW
        return Verdict.DENY


def exec_rules(given: ExecSettings, *, is_private: bool) -> ExecRules:
    """`is_private`: an owner asked for the turn in a direct chat, where commands run unless a setting forbids it."""
    security: Security = given.security or ("full" if is_private else "allowlist")
    is_free = is_private and security == "full"
    return ExecRules(security, given.ask or ("off" if is_free else "on-miss"), given.ask_fallback)
