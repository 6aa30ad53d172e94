"""From an address to the backend that reaches it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from openclaw_workers.errors import BadInput, NotFound, StoreUnavailable
from openclaw_workers.remote.address import TOKEN_VARIABLE, URL_VARIABLE, ApiAddress

if TYPE_CHECKING:
    from openclaw_workers.sdk.backend import Backend

HTTP = ("http://", "https://")
REDIS = ("redis://", "rediss://", "unix://")


def open_backend(
    url: str | None, *, token: str | None, config: str | Path | None, state_dir: str | Path | None, timeout: float
) -> Backend:
    """The backend for an address.

    Without one: OPENCLAW_URL, then REDIS_URL, the configuration, or a running `ocw up`.

    Raises:
        BadInput: it is no such address.
        ConfigurationError: the configuration is not valid.
        StoreUnavailable: no address is known.
    """
    url = url or os.environ.get(URL_VARIABLE)
    if url is not None and url.startswith(HTTP):
        from openclaw_workers.sdk.http_backend import HttpBackend  # noqa: PLC0415 - only what is used is loaded

        return HttpBackend(ApiAddress(url, token or os.environ.get(TOKEN_VARIABLE, "")), timeout=timeout)
    if url is not None and not url.startswith(REDIS):
        raise BadInput(f"{url!r} is not an address", hint="expected http://…, https://… or redis://…")
    return _redis_backend(url, config, state_dir)


def _redis_backend(url: str | None, config: str | Path | None, state_dir: str | Path | None) -> Backend:
    from openclaw_workers.config.host import find_host  # noqa: PLC0415
    from openclaw_workers.engine.fleet_config import redis_url_of  # noqa: PLC0415
    from openclaw_workers.sdk.local_installation import LocalInstallation  # noqa: PLC0415
    from openclaw_workers.sdk.redis_backend import RedisBackend  # noqa: PLC0415

    host = find_host(config, state_dir=Path(state_dir) if state_dir else None)
    try:
        url = url or redis_url_of(host)
    except NotFound as error:
        raise StoreUnavailable(error.message, hint=error.hint) from error
    return RedisBackend(LocalInstallation(host, url))
