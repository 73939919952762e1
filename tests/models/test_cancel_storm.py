"""Many cancelled calls leave nothing behind and harm nobody; `tests/bench/bench_cancel.py` is the same in large."""

from __future__ import annotations

import pytest
from urllib3.connection import HTTPConnection
from urllib3.connectionpool import HTTPConnectionPool

from rxagent.models import ChatCompletions
from rxagent.models.transport_pool import _PlainPool
from rxagent.streams import CancelScope, Stopped, pull
from rxagent.testing.chat_server import ChatServer, text

from . import cancel_storm
from .calling import ask, authority_file, question, server_tls

pytestmark = pytest.mark.promise("J5")


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_random_moments(tls: bool) -> None:
    """Calls cancelled at random moments all end as stopped, and leave no thread, socket or descriptor."""
    with ChatServer(cancel_storm.turn, tls=server_tls() if tls else None) as server:
        model = ChatCompletions("any", server.base_url, verify=authority_file())
        samples = cancel_storm.storm(model, 30, 0.02)
        assert all(sample.was_stopped for sample in samples)
        model.close()


@pytest.mark.parametrize("moment", ["before", "after"])
def test_cancelled_at_the_pools_door(moment: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection cut just before it goes back to the pool is closed; just after, it is left alone and used again."""
    scope = CancelScope()

    def cancelling(owner: type[HTTPConnectionPool], patch: pytest.MonkeyPatch) -> None:
        put = owner._put_conn

        def put_conn(pool: HTTPConnectionPool, connection: HTTPConnection | None) -> None:
            if moment == "before":
                scope.cancel()
            put(pool, connection)
            if moment == "after":
                scope.cancel()

        patch.setattr(owner, "_put_conn", put_conn)

    with ChatServer([text("one"), text("two")]) as server:
        model = ChatCompletions("any", server.base_url)
        with monkeypatch.context() as patch:  # not undo(): it would bring back the machine's environment, too
            cancelling(_PlainPool if moment == "before" else HTTPConnectionPool, patch)
            with pytest.raises(Stopped):
                list(pull(model.generate_content(question()), scope))
        assert ask(model)[-1].text == "two"
        assert server.connections == (2 if moment == "before" else 1)
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
