"""The fleet's configuration and its versions, and what the configuration says of old sessions."""

from __future__ import annotations

from pathlib import Path

from openclaw_workers.cli.backend.opened import LocalPart
from openclaw_workers.cli.backend.protocol import Json
from openclaw_workers.config.host import Host, find_host
from openclaw_workers.engine.fleet_config import configs_of
from openclaw_workers.queries.config_changes import publish_file, published_answer, roll_back
from openclaw_workers.queries.session_cleanup import cleanup_answer
from openclaw_workers.store.configs import Configs


class LocalConfig(LocalPart):
    def config_history(self) -> Json:
        return published_answer(self._configs(self._cli.host))

    def publish_config(self, file: Path | None, *, is_dry: bool) -> Json:
        """Without a file and without one in use, these are the defaults and what the environment says."""
        host = self._cli.host if file is None else find_host(file, state_dir=self._cli.host.state_dir)
        return publish_file(host, lambda: self._configs(host), is_dry=is_dry)

    def roll_back_config(self, version: int | None) -> Json:
        return roll_back(self._cli.host, self._configs(self._cli.host), version)

    def _configs(self, host: Host) -> Configs:
        """Where configurations are: by the file in use; without one, by the file that is published."""
        return configs_of(self._cli.host if self._cli.host.source else host, self._cli.redis)

    def clean_up(self, *, is_dry: bool) -> Json:
        return cleanup_answer(self._cli, self._cli.waker, self._cli.archives, is_dry=is_dry)
