"""What may stand behind the `?` of a Redis address. redis-py is asked, so that it need not be told when it learns."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from redis import ConnectionPool

_UNKNOWN = re.compile(r"unexpected keyword argument '(\w+)'")
_BAD_VALUE = re.compile(r"Invalid value for '(\w+)'")


def check_redis_options(url: str) -> None:
    """See that a connection could be made from the address; nothing is connected.

    Raises:
        ValueError: it has an option that redis-py does not know, or that cannot have this value.
    """
    try:
        pool = ConnectionPool.from_url(url)
        pool.connection_class(**pool.connection_kwargs)
    except Exception as error:  # of several kinds; whichever it is, this address cannot be used
        raise ValueError(_told(url, str(error))) from error


def _told(url: str, why: str) -> str:
    # With an @ behind the ?, the "option" is a piece of a password.
    if "@" in urlsplit(url).query:
        return "expected options of redis-py after the ?; in a password write ? as %3F and @ as %40"
    if unknown := _UNKNOWN.search(why):
        return f"expected options of redis-py after the ?, such as ?socket_timeout=5; it has no {unknown[1]!r}"
    if bad := _BAD_VALUE.search(why):
        return f"expected another value for the option {bad[1]!r}"
    return "expected options of redis-py after the ?, such as ?socket_timeout=5"
