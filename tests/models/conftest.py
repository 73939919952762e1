"""For the tests of models: nothing of the machine's own, and pauses that take no time."""

from __future__ import annotations

import os

import pytest

from rxagent.streams import CancelScope


@pytest.fixture(autouse=True)
def nothing_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No server, key or proxy of the machine's own."""
    for name in list(os.environ):
        if name.lower().endswith(("_proxy", "_base_url", "_api_key", "_ca_bundle")):
            monkeypatch.delenv(name)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that calls make, none of which takes any time."""
    made: list[float] = []
    monkeypatch.setattr(CancelScope, "sleep", lambda scope, seconds: made.append(seconds))
    return made
