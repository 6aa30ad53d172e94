"""The configuration: what is in force, checks, versions, and publishing another one. No secret is answered."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ingress.api.access import maker_of, require_unbound
from ingress.api.models.configuration import ApplyInput, ConfigCheckInput, ConfigQuery, RollbackInput
from ingress.api.table import Call, NoInput
from openclaw_workers.config.host import Host
from openclaw_workers.config.loader import load
from openclaw_workers.errors import ConfigurationError
from openclaw_workers.queries.config_answers import check_answer, failed_check_answer, values_answer
from openclaw_workers.queries.config_changes import (
    publish_file,
    published_answer,
    require_no_secrets,
    roll_back,
)
from openclaw_workers.redaction import mask_known_in_json
from openclaw_workers.store.configs import Configs


def get_config(call: Call[ConfigQuery, NoInput]) -> dict[str, Any]:
    return _masked(values_answer(call.context.loaded, call.query.prefix))


def check_config(call: Call[NoInput, ConfigCheckInput]) -> dict[str, Any]:
    """Check a text, or the file of this ingress as it is now."""
    loaded = call.context.loaded
    if call.body.text is None:
        return _checked(loaded.source, loaded.state_dir)
    with _stored(call.body) as path:
        # The temporary path means nothing to whoever sent the text.
        return {**_checked(path, loaded.state_dir), "source": None}


def get_history(call: Call[NoInput, NoInput]) -> dict[str, Any]:
    require_unbound(call, "see configurations")
    return _masked(published_answer(_configs(call)))


def apply(call: Call[NoInput, ApplyInput]) -> dict[str, Any]:
    """Publish a text, or the file of this ingress as it is now."""
    require_unbound(call, "publish configurations")
    loaded, body = call.context.loaded, call.body
    if body.text is None:
        return _published(call, _host(call, loaded.source))
    with _stored(body) as path:
        return _published(call, _host(call, path), is_sent=True)


def rollback(call: Call[NoInput, RollbackInput]) -> dict[str, Any]:
    require_unbound(call, "publish configurations")
    host = _host(call, call.context.loaded.source)
    try:
        return _masked(roll_back(host, _configs(call), call.body.version, by=maker_of(call)))
    except ConfigurationError as error:
        return failed_check_answer(error)


def _published(call: Call[NoInput, ApplyInput], host: Host, *, is_sent: bool = False) -> dict[str, Any]:
    """`is_sent`: the file came with the request. It must hold no secrets, and its path means nothing to anybody."""
    try:
        if is_sent:
            require_no_secrets(host)
        return _masked(publish_file(host, lambda: _configs(call), is_dry=call.body.dry_run, by=maker_of(call)))
    except ConfigurationError as error:
        return failed_check_answer(_without_path(error) if is_sent else error)


def _checked(source: Path | None, state_dir: Path) -> dict[str, Any]:
    try:
        return check_answer(load(source, state_dir=state_dir))
    except ConfigurationError as error:
        return failed_check_answer(error)


def _without_path(error: ConfigurationError) -> ConfigurationError:
    return ConfigurationError(error.problems, hint=error.hint)


@contextmanager
def _stored(body: ConfigCheckInput) -> Iterator[Path]:
    """The text of a request as a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"openclaw.{body.format}"
        path.write_text(body.text or "", encoding="utf-8", errors="replace")
        yield path


def _host(call: Call[Any, Any], source: Path | None) -> Host:
    return Host(os.environ, call.context.state_dir, source)


def _configs(call: Call[Any, Any]) -> Configs:
    return Configs(call.context.stores.redis, call.context.stores.keys)


def _masked(answer: dict[str, Any]) -> dict[str, Any]:
    """A setting that is no secret may be made of a variable that holds one."""
    masked: dict[str, Any] = mask_known_in_json(answer)
    return masked
