"""The files of the traces: ADK Java's, and the parts in which rxagent means to differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

__all__ = ["OURS", "ours_of", "trace_files"]

DATA = Path(__file__).parent / "data"
OURS = Path(__file__).parent / "ours"


def trace_files() -> list[Path]:
    """The traces of ADK Java, in order."""
    return sorted(DATA.glob("[a-k]_*/*.json"))


def ours_of(id: str) -> dict[str, Any]:
    """rxagent's own parts of this trace; none, as a rule."""
    path = OURS / f"{id}.json"
    return json.loads(path.read_text()) if path.exists() else {}
