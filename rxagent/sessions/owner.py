"""Who holds a turn, and whether that process is still there."""

from __future__ import annotations

import os
from functools import cache

from .turn import Owner

__all__ = ["current_owner", "is_gone"]

_START_TIME = 19  # field 22 of /proc/<pid>/stat, counted from the state, which is field 3 (proc(5))


def current_owner(instance: str) -> Owner:
    """This process as an owner. instance: what tells its services apart.

    Where /proc is missing, `boot_id` and `pid_namespace` are empty, and others go by the lease alone.
    """
    pid = os.getpid()
    boot_id, pid_namespace, started = _identity(pid)
    return Owner(instance, boot_id, pid_namespace, pid, started)


def is_gone(owner: Owner) -> bool | None:
    """True when the owner's process has ended, False when it lives, None when this process cannot know.

    Pids mean something only within one boot and one pid namespace; a reused pid has another start time. A zombie
    has ended: it runs nothing and only waits for its parent to take notice.
    """
    boot_id, pid_namespace, _ = _identity(os.getpid())
    if not owner.boot_id or (owner.boot_id, owner.pid_namespace) != (boot_id, pid_namespace):
        return None
    try:
        state, started = _stat(owner.pid)
    except FileNotFoundError:
        return True
    except ProcessLookupError:  # it ended while its entry was read
        return True
    except (OSError, ValueError, IndexError):
        return None
    return started != owner.started or state in "ZX"


@cache
def _identity(pid: int) -> tuple[str, str, int]:
    """Boot id, pid namespace and start time of this process; the pid is the key, so a forked child asks again."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot_id = file.read().strip()
        return boot_id, os.readlink("/proc/self/ns/pid"), _stat(pid)[1]
    except (OSError, ValueError, IndexError):
        return "", "", 0


def _stat(pid: int) -> tuple[str, int]:
    """A process's state letter and start time in clock ticks since boot."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()  # the name before it may hold anything, ")" too
    return fields[0], int(fields[_START_TIME])
