"""Many cancelled calls leave nothing behind and harm nobody; `tests/bench/bench_cancel.py` is the same in large."""

from __future__ import annotations

import pytest

from rxagent.models import ChatCompletions
from rxagent.testing.chat_server import ChatServer

from . import cancel_storm
from .calling import authority_file, server_tls

pytestmark = pytest.mark.promise("J5")


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_random_moments(tls: bool) -> None:
    """Calls cancelled at random moments all end as stopped, and leave no thread, socket or descriptor."""
    with ChatServer(cancel_storm.turn, tls=server_tls() if tls else None) as server:
        model = ChatCompletions("any", server.base_url, verify=authority_file())
        samples = cancel_storm.storm(model, 30, 0.02)
        assert all(sample.was_stopped for sample in samples)
        model.close()


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_innocent_calls(tls: bool) -> None:
    """Calls that end while they are cancelled never take a connection away from another call of the pool."""
    with ChatServer(cancel_storm.turn, tls=server_tls() if tls else None) as server:
        model = ChatCompletions("any", server.base_url, verify=authority_file(), retries=0)
        result = cancel_storm.race(model, 150)
        assert result.wrong == []
        assert result.outcomes["stopped"] > 0
        model.close()
