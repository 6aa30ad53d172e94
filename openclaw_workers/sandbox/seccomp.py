"""A filter of system calls, as the kernel reads it: calls that a sandboxed command never needs fail with EPERM.

It is the second wall: without capabilities and namespaces most of these fail anyway. It also keeps commands away from
kernel code in which faults are found again and again.
"""

from __future__ import annotations

import platform
import struct
from typing import Final

_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000 | 1  # EPERM is 1

# From the kernel's tables. Newer calls have the same number on all architectures.
_COMMON: Final = {
    "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428, "move_mount": 429,
    "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_getfd": 438, "mount_setattr": 442,
}  # fmt: skip
_X86_64: Final = {
    "ptrace": 101, "syslog": 103, "uselib": 134, "personality": 135, "pivot_root": 155, "chroot": 161, "acct": 163,
    "settimeofday": 164, "mount": 165, "umount2": 166, "swapon": 167, "swapoff": 168, "reboot": 169,
    "init_module": 175, "delete_module": 176, "quotactl": 179, "lookup_dcookie": 212, "clock_settime": 227,
    "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250, "migrate_pages": 256, "unshare": 272,
    "move_pages": 279, "perf_event_open": 298, "open_by_handle_at": 304, "setns": 308, "process_vm_readv": 310,
    "process_vm_writev": 311, "finit_module": 313, "kexec_file_load": 320, "bpf": 321, "userfaultfd": 323,
}  # fmt: skip
_AARCH64: Final = {
    "umount2": 39, "mount": 40, "pivot_root": 41, "chroot": 51, "quotactl": 60, "acct": 89, "personality": 92,
    "unshare": 97, "kexec_load": 104, "init_module": 105, "delete_module": 106, "clock_settime": 112, "syslog": 116,
    "ptrace": 117, "reboot": 142, "settimeofday": 170, "add_key": 217, "request_key": 218, "keyctl": 219,
    "swapon": 224, "swapoff": 225, "migrate_pages": 238, "move_pages": 239, "perf_event_open": 241,
    "open_by_handle_at": 265, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "finit_module": 273,
    "bpf": 280, "userfaultfd": 282, "kexec_file_load": 294,
}  # fmt: skip
_MACHINES: Final = {"x86_64": (0xC000003E, _X86_64), "aarch64": (0xC00000B7, _AARCH64)}
_X32 = 0x40000000
"""On x86-64, numbers from here on are those of another ABI."""


def seccomp_filter(machine: str | None = None) -> bytes | None:
    """The filter for this machine's processor; None if its numbers are not known here."""
    known = _MACHINES.get(machine or platform.machine())
    if known is None:
        return None
    architecture, own = known
    refused = sorted({**own, **_COMMON}.values())
    program = [
        _instruction(_LOAD, value=_ARCHITECTURE),
        # Numbers mean other calls on another architecture: a 32-bit program would pass the filter with forbidden
        # ones.
        _instruction(_EQUAL, if_true=1, value=architecture),
        _instruction(_RETURN, value=_KILL),
        _instruction(_LOAD, value=_NUMBER),
    ]
    checks = [(_AT_LEAST, _X32), *((_EQUAL, number) for number in refused)]
    # Each check jumps to the last instruction if it is true.
    program += [
        _instruction(code, if_true=len(checks) - index, value=value) for index, (code, value) in enumerate(checks)
    ]
    return b"".join([*program, _instruction(_RETURN, value=_ALLOW), _instruction(_RETURN, value=_REFUSE)])


def _instruction(code: int, *, if_true: int = 0, value: int) -> bytes:
    return struct.pack("=HBBI", code, if_true, 0, value)
