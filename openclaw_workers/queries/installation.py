"""What a question is asked of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from openclaw_workers.config.loader import Loaded
    from openclaw_workers.engine.routing.addressing import SessionRules
    from openclaw_workers.engine.stores import Stores
    from openclaw_workers.store.overview import Overview
    from openclaw_workers.store.tree_queries import Trees


class Installation(Protocol):
    """The settings and stores of one installation; the contexts of CLI and ingress are such."""

    @property
    def loaded(self) -> Loaded: ...

    @property
    def stores(self) -> Stores: ...

    @property
    def overview(self) -> Overview: ...

    @property
    def trees(self) -> Trees: ...

    @property
    def session_rules(self) -> SessionRules: ...
