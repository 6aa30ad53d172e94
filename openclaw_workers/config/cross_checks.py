"""Checks across several settings. They run on the raw tree, so that their problems are reported with all others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from openclaw_workers.config.normalise import Normaliser
from openclaw_workers.config.schema_tree import Loc


def known_aliases(tree: dict[str, Any]) -> set[str]:
    """All model aliases in lower case, from both places that define them."""
    listed = mapping_at(tree, "agents", "defaults", "models")
    named = [entry.get("alias") for entry in listed.values() if isinstance(entry, dict)]
    return {str(alias).lower() for alias in [*mapping_at(tree, "models", "aliases"), *named] if alias}


def check_agents(tree: dict[str, Any], normaliser: Normaliser) -> Iterator[str]:
    """Agent ids must be unique, and at most one existing agent may be the default."""
    agents = mapping_at(tree, "agents")
    listed = agents.get("list")
    profiles = agents.get("profiles")
    places: dict[str, Loc] = {}
    defaults: list[tuple[str, str]] = []
    for index, entry in enumerate(listed if isinstance(listed, list) else []):
        if isinstance(entry, dict) and isinstance(agent := entry.get("id"), str):
            loc: Loc = ("agents", "list", index, "id")
            if agent in places:
                yield f"{normaliser.where(loc)}: the agent {agent!r} is already at {normaliser.where(places[agent])}"
            places.setdefault(agent, loc)
            if entry.get("default") is True:
                defaults.append((agent, normaliser.where(loc[:3])))
    for agent in profiles if isinstance(profiles, dict) else {}:
        loc = ("agents", "profiles", agent)
        if agent in places:
            yield f"{normaliser.where(loc)}: the agent {agent!r} is already at {normaliser.where(places[agent])}"
        places.setdefault(agent, loc)
    if len(defaults) > 1:
        marked = ", ".join(where for _, where in defaults)
        yield f"{normaliser.where(('agents', 'list'))}: only one agent can be the default, but {marked} are marked so"
    named = agents.get("defaultAgent")
    if isinstance(named, str):
        where = normaliser.where(("agents", "defaultAgent"))
        # Without any agent in the file there is one called main.
        if named not in (places or {"main": ()}):
            yield f"{where}: expected one of the agents {', '.join(places) or 'main'}, found {named!r}"
        if defaults and defaults[0][0] != named:
            yield f"{where}: {named!r} is named, but {defaults[0][1]} says default: true"


def check_lane_caps(tree: dict[str, Any], normaliser: Normaliser) -> Iterator[str]:
    """The cap of the subagent lane can be set under two names, which must agree."""
    one = mapping_at(tree, "agents", "defaults", "subagents").get("maxConcurrent")
    other = mapping_at(tree, "lanes", "subagent").get("maxConcurrent")
    if one is not None and other is not None and one != other:
        where = normaliser.where(("agents", "defaults", "subagents", "maxConcurrent"))
        yield f"{where}: differs from lanes.subagent.maxConcurrent, which is the same cap; keep one of them"


def check_agents_caps(tree: dict[str, Any], normaliser: Normaliser) -> Iterator[str]:
    """That cap applies to the whole fleet, so it cannot be set for one agent."""
    agents = mapping_at(tree, "agents")
    listed, profiles = agents.get("list"), agents.get("profiles")
    places: list[tuple[Loc, Any]] = []
    if isinstance(listed, list):
        places += [(("agents", "list", index), entry) for index, entry in enumerate(listed)]
    if isinstance(profiles, dict):
        places += [(("agents", "profiles", name), entry) for name, entry in profiles.items()]
    for loc, entry in places:
        if isinstance(entry, dict) and mapping_at(entry, "subagents").get("maxConcurrent") is not None:
            where = normaliser.where((*loc, "subagents", "maxConcurrent"))
            yield (
                f"{where}: caps the whole fleet and cannot be set for one agent; "
                "write it as agents.defaults.subagents.maxConcurrent"
            )


def mapping_at(tree: dict[str, Any], *path: str) -> dict[str, Any]:
    """The mapping at a path of the tree; an empty one if there is none."""
    for key in path:
        value = tree.get(key)
        if not isinstance(value, dict):
            return {}
        tree = value
    return tree
