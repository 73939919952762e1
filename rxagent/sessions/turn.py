"""Turns: who may write to a session now."""

from __future__ import annotations

from typing import NamedTuple

from .key import SessionKey

__all__ = ["OpenRun", "Owner", "RunTicket", "StopRequest"]


class Owner(NamedTuple):
    """Who holds a turn: a service instance in a process.

    Two owners of the same boot and pid namespace can judge whether the other's process is alive; others wait for
    the lease. `started`: the process's start time in clock ticks since boot, so that a reused pid is told apart.
    """

    instance: str
    boot_id: str
    pid_namespace: str
    pid: int
    started: int


class RunTicket(NamedTuple):
    """A turn: the epoch fences the turns before it; `last_seq` is where the log ended when it was opened."""

    epoch: int
    last_seq: int


class OpenRun(NamedTuple):
    """A turn that is to be kept alive."""

    key: SessionKey
    run_id: str
    epoch: int


class StopRequest(NamedTuple):
    """Somebody, perhaps in another process, wants a run to stop.

    lost: the run has lost its turn; it can append nothing more.
    """

    key: SessionKey
    run_id: str
    reason: str
    lost: bool = False
