"""Publishing configurations and going back to earlier ones, as JSON answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from openclaw_workers.config.changes import changes_between
from openclaw_workers.config.host import Host
from openclaw_workers.config.publication import draft, literal_secrets
from openclaw_workers.engine.fleet_config import load_version, publish, publish_again
from openclaw_workers.errors import BadInput, ConflictError, NotFound
from openclaw_workers.queries.config_answers import apply_answer, history_answer
from openclaw_workers.store.configs import Configs, ConfigVersion, Published


def published_answer(configs: Configs) -> dict[str, Any]:
    """The published configurations, newest first."""
    current = configs.current()
    return history_answer(configs.history(), current.number if current else None)


def publish_file(host: Host, configs: Callable[[], Configs], *, is_dry: bool, by: str = "") -> dict[str, Any]:
    """Publish the file of a host, and say what changes; in a dry run, what would change.

    `configs` is asked for once the file is known to be valid. `by` says who publishes; empty: the user of this process.

    Raises:
        ConfigurationError: the file is not valid.
        ConflictError: another version was published meanwhile.
    """
    made = draft(host)
    versions = configs()
    before = versions.current()
    changes = changes_between(before.document.tree if before else {}, made.tree)
    published = None
    if not is_dry:
        # With the number that was compared, so that the changes shown are those that happen.
        published = publish(versions, made, expected=before.number if before else 0, by=by)
        _require_accepted(published)
    return apply_answer(before, published, changes, made)


def roll_back(host: Host, configs: Configs, wanted: int | None, *, by: str = "") -> dict[str, Any]:
    """Publish an earlier configuration again; without a number, the one before the current one.

    Raises:
        NotFound: there is none.
        ConfigurationError: this version of the program cannot read it.
        ConflictError: another version was published meanwhile.
    """
    current = configs.current()
    if current is None:
        raise NotFound("no configuration is published", hint="`ocw config apply` publishes one")
    earlier = _earlier(configs, current, wanted)
    # A version that this program cannot read must not be published: all workers would refuse turns.
    load_version(earlier, host)
    published = publish_again(configs, earlier, expected=current.number, by=by)
    _require_accepted(published)
    changes = changes_between(current.document.tree, earlier.document.tree)
    return {**apply_answer(current, published, changes), "rolledBackTo": earlier.number}


def require_no_secrets(host: Host) -> None:
    """See that a file may be sent to another machine.

    Raises:
        BadInput: secrets are written out in it.
        ConfigurationError: it cannot be read.
    """
    if found := literal_secrets(host):
        raise BadInput(
            f"the file holds secrets, which are not sent: {', '.join(found)}",
            hint="write ${NAME} there, and set NAME where the installation runs, for example in .env of its state "
            "directory",
        )


def _earlier(configs: Configs, current: ConfigVersion, wanted: int | None) -> ConfigVersion:
    if wanted is None:
        before = [each for each in configs.history() if each.number < current.number]
        found = before[0] if before else None
    else:
        found = configs.version(wanted)
    if found is None:
        missing = f"there is no configuration {wanted}" if wanted else "there is no earlier configuration"
        raise NotFound(missing, hint="`ocw config history` lists those that are kept")
    return found


def _require_accepted(published: Published) -> None:
    if published.is_refused:
        raise ConflictError(
            f"configuration {published.number} was published meanwhile", hint="look at it and run this again"
        )
