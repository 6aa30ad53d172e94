"""Check the options after the `?` of a Redis URL. redis-py itself is asked, so new options need no change here."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from redis import ConnectionPool

_UNKNOWN = re.compile(r"unexpected keyword argument '(\w+)'")
_BAD_VALUE = re.compile(r"Invalid value for '(\w+)'")


def check_redis_options(url: str) -> None:
    """Check that redis-py accepts the URL, without connecting.

    Raises:
        ValueError: redis-py does not know an option, or does not accept its value.
    """
    try:
        pool = ConnectionPool.from_url(url)
        # redis-py checks the names of options only when it creates a connection.
        pool.connection_class(**pool.connection_kwargs)
    except Exception as error:  # redis-py raises several types here; each means that the URL is not usable
        raise ValueError(_explain(url, str(error))) from error


def _explain(url: str, why: str) -> str:
    # If an @ follows the ?, the "option" is really a piece of a password.
    if "@" in urlsplit(url).query:
        return "expected options of redis-py after the ?; in a password write ? as %3F and @ as %40"
    if unknown := _UNKNOWN.search(why):
        return f"expected options of redis-py after the ?, such as ?socket_timeout=5; it has no {unknown[1]!r}"
    if bad := _BAD_VALUE.search(why):
        return f"expected another value for the option {bad[1]!r}"
    return "expected options of redis-py after the ?, such as ?socket_timeout=5"
