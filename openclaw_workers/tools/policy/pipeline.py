"""The pipeline: named steps that only remove tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from openclaw_workers.tools.policy.names import Catalogue


@dataclass(frozen=True, slots=True)
class Rule:
    """One list of a policy."""

    kind: Literal["allow", "deny"]
    names: tuple[str, ...]
    where: str
    """The setting, as a path of the configuration; for a rule of the product itself, what it says."""
    is_setting: bool = True
    """Whether `where` is a path of the configuration."""

    def removes(self, tool: str, catalogue: Catalogue) -> bool:
        """An empty allow-list restricts nothing."""
        if self.kind == "deny":
            return catalogue.matches(self.names, tool)
        return bool(self.names) and not catalogue.matches(self.names, tool)


@dataclass(frozen=True, slots=True)
class Step:
    """One layer. A tool stays if no rule removes it; so deny wins over allow."""

    layer: str
    rules: tuple[Rule, ...] = ()

    def culprit(self, tool: str, catalogue: Catalogue) -> Rule | None:
        """The rule that removes the tool; a deny before an allow."""
        removing = [rule for rule in self.rules if rule.removes(tool, catalogue)]
        return next((rule for rule in removing if rule.kind == "deny"), next(iter(removing), None))


@dataclass(frozen=True, slots=True)
class Removal:
    """Why a turn does not have a tool."""

    layer: str
    rule: Rule

    @property
    def line(self) -> str:
        """The setting with its value, or what the product's own rule says."""
        if not self.rule.is_setting:
            return self.rule.where
        return f"{self.rule.where}: [{', '.join(self.rule.names)}]"

    @property
    def text(self) -> str:
        if not self.rule.is_setting:
            return self.rule.where
        names_it = "names it" if self.rule.kind == "deny" else "does not name it"
        return f"{self.rule.where} {names_it}"


@dataclass(frozen=True, slots=True)
class Decision:
    """Which tools a turn has, and why it does not have the others."""

    allowed: tuple[str, ...]
    removed: Mapping[str, Removal]
    warnings: tuple[str, ...] = ()


def apply(steps: Iterable[Step], catalogue: Catalogue) -> Decision:
    """Run the steps in their order over all tools."""
    left, removed, warnings = list(catalogue.tools), dict[str, Removal](), dict[str, None]()
    for step in steps:
        for tool in left:
            rule = step.culprit(tool, catalogue)
            if rule is not None:
                removed[tool] = Removal(step.layer, rule)
        left = [tool for tool in left if tool not in removed]
        for rule in step.rules:
            # The product's own rules also name tools that this version does not have.
            for name in rule.names if rule.is_setting else ():
                if warning := catalogue.warning(name):
                    warnings[f"{rule.where}: {warning}"] = None
    return Decision(tuple(left), removed, tuple(warnings))
