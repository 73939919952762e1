"""What idles between runs can be ended."""

from __future__ import annotations

import pytest

from rxagent.streams import idle


def test_end_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """All that was registered is ended, the latest first, each time."""
    monkeypatch.setattr(idle, "_ends", [])
    ended: list[str] = []
    for name in "ab":
        idle.register(lambda name=name: ended.append(name))  # type: ignore[misc]
    idle.end_all()
    idle.end_all()
    assert ended == ["b", "a", "b", "a"]
