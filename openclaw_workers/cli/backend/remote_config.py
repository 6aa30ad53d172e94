"""The fleet's configuration and its versions, through the HTTP API."""

from __future__ import annotations

from pathlib import Path

from openclaw_workers.cli.backend.protocol import Json
from openclaw_workers.cli.backend.remote_calls import RemoteCalls
from openclaw_workers.errors import BadInput, ConfigurationError


class RemoteConfig(RemoteCalls):
    def config(self, prefix: str) -> Json:
        return self._get("/config", prefix=prefix)

    def check_config(self, path: Path | None) -> Json:
        """Check the configuration in use there, or a file of this machine."""
        if path is None:
            return self._post("/config/check")
        return {**self._post("/config/check", **_file(path)), "source": str(path)}

    def config_history(self) -> Json:
        return self._get("/config/history")

    def publish_config(self, file: Path | None, *, is_dry: bool) -> Json:
        """Publish a file of this machine, or the one in use there."""
        if file is None:
            return _checked(self._post("/config/apply", dryRun=is_dry), None)
        from openclaw_workers.config.host import Host
        from openclaw_workers.queries.config_changes import require_no_secrets

        fields = _file(file)
        # Checked before anything leaves this machine.
        require_no_secrets(Host({}, file.parent, file))
        return _checked(self._post("/config/apply", dryRun=is_dry, **fields), str(file))

    def roll_back_config(self, version: int | None) -> Json:
        return _checked(self._post("/config/rollback", version=version), None)


def _file(path: Path) -> Json:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from error
    return {"text": text, "format": "json" if path.suffix in (".json", ".json5") else "yaml"}


def _checked(answer: Json, source: str | None) -> Json:
    """Raises:
    ConfigurationError: the configuration is not valid.
    """
    if not answer["ok"]:
        error = answer["error"]
        raise ConfigurationError(answer["problems"], source=source or answer["source"], hint=error["hint"])
    return answer
