"""Hosts with networks of their own: namespaces that are joined by a bridge, each with its own address and name."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Network:
    """A bridge. The tests' own side of it has `address`; each host is one namespace."""

    def __init__(self) -> None:
        # Several test processes may do this at a time; the name of a device has at most 15 characters.
        self._id = f"{os.getpid() % 100_000}"
        self._subnet = f"10.{os.getpid() // 256 % 100 + 100}.{os.getpid() % 256}"
        self.address = f"{self._subnet}.1"
        self._bridge = f"ocwb{self._id}"
        self._hosts: list[str] = []

    def open(self) -> None:
        _ip("link", "add", self._bridge, "type", "bridge")
        _ip("addr", "add", f"{self.address}/24", "dev", self._bridge)
        _ip("link", "set", self._bridge, "up")

    def host(self, name: str) -> list[str]:
        """Add a host; returns the command that runs a program there, under its host name."""
        number = len(self._hosts) + 2
        namespace = f"ocw{self._id}-{number}"
        ours, theirs = f"ocw{self._id}a{number}", f"ocw{self._id}b{number}"
        self._hosts.append(namespace)
        _ip("netns", "add", namespace)
        _ip("link", "add", ours, "type", "veth", "peer", "name", theirs)
        _ip("link", "set", ours, "master", self._bridge, "up")
        _ip("link", "set", theirs, "netns", namespace)
        for words in (
            ("addr", "add", f"{self._subnet}.{number}/24", "dev", theirs),
            ("link", "set", theirs, "up"),
            ("link", "set", "lo", "up"),
        ):
            _ip("-n", namespace, *words)
        rename = f'hostname {name} && exec "$@"'
        return ["ip", "netns", "exec", namespace, "unshare", "--uts", "sh", "-c", rename, "sh"]

    def close(self) -> None:
        for namespace in self._hosts:
            with suppress(subprocess.CalledProcessError):
                _ip("netns", "del", namespace)  # its devices go with it
        _ip("link", "del", self._bridge)


@contextmanager
def network() -> Iterator[Network]:
    made = Network()
    made.open()
    try:
        yield made
    finally:
        made.close()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, timeout=30)
