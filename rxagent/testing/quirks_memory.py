"""What memory the parser takes for a bomb, as the operating system sees it (Linux).

    python -m rxagent.testing.quirks_memory [limit in bytes]

Prints a JSON object: MiB above the limit at the peak, by the bomb's name. Without a limit it takes the defaults, each
bomb against the limit that it runs into.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rxagent.errors import RxAgentError
from rxagent.models.wire_body import BodyReader
from rxagent.models.wire_limits import WireLimits

from .quirks_fuzz import BOMBS, bomb
from .quirks_parse import parse_body

__all__ = ["SHARES", "bombs_above", "peak_of"]

_MIB: Final = 2**20
SHARES: Final = (0.03, 0.08, 0.16, 0.3, 0.6, 0.66, 0.99, 2.0)
"""Sizes of a bomb in parts of its limit."""


def bombs_above(limits: WireLimits, shares: Sequence[float] = SHARES) -> dict[str, float]:
    """MiB above the limit, at the peak, for each bomb: the worst of these shares of the limit."""
    return {name: max(_sizes_above(name, limits, shares)) for name in BOMBS}


def _sizes_above(name: str, limits: WireLimits, shares: Sequence[float]) -> Iterator[float]:
    most = limits.body if BOMBS[name][0].startswith(b"{") else limits.event
    end = BOMBS[name][2]
    for share in shares:
        pieces = [*bomb(name, int(most * share)), end]
        yield round((peak_of(pieces, limits) - most) / _MIB, 2)


def peak_of(pieces: list[bytes], limits: WireLimits) -> int:
    """Bytes by which the process grows, at its peak, while it parses these pieces. Forks: for one thread only."""
    out, into = os.pipe()
    child = os.fork()
    if not child:
        before = _reset_peak()
        with contextlib.suppress(RxAgentError):
            deque(parse_body(iter(pieces), BodyReader(limits=limits)), maxlen=0)
        os.write(into, str(_status("VmHWM") - before).encode())
        os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return int(answer)


def _reset_peak() -> int:
    Path("/proc/self/clear_refs").write_text("5")  # the peak is what is there now
    return _status("VmRSS")


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(name)


if __name__ == "__main__":
    given = int(sys.argv[1]) if sys.argv[1:] else 0
    chosen = WireLimits(line=given, event=given, body=given) if given else WireLimits()
    print(json.dumps(bombs_above(chosen), indent=2))
