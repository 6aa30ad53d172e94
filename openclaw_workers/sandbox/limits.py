"""What the commands of a sandbox may use."""

from __future__ import annotations

from dataclasses import dataclass

MB = 1 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    memory_bytes: int = 1024 * MB
    cpu_seconds: int = 600
    processes: int = 128
    disk_bytes: int = 1024 * MB
    tmp_bytes: int = 64 * MB
    seconds: int = 1800
