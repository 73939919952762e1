"""An abort is pushed: how soon the model call has ended and the seal is stored; bench_abort.py does it 500 times."""

from __future__ import annotations

from pathlib import Path

import pytest

from rxagent.models import ChatCompletions
from rxagent.sessions import InMemorySessionService, SqliteSessionService
from rxagent.testing.chat_server import ChatServer, stall
from tests.bench.bench_abort import measure

ABORTS = 40
TRIES = 3  # a busy machine may spoil one


@pytest.mark.parametrize(
    "store",
    [
        pytest.param("memory", marks=pytest.mark.promise("A10", "memory")),
        pytest.param("sqlite", marks=pytest.mark.promise("A10", "sqlite")),
    ],
)
def test_how_soon(store: str, tmp_path: Path) -> None:
    """Idle in a model call, on a real socket, with an idle and a busy consumer: within the promise's limits."""
    missed = ["not tried"]
    for number in range(TRIES):
        with ChatServer(lambda _: ["Once ", stall()]) as server:

            def gone(server: ChatServer = server) -> dict[str, float]:
                seen = {}
                for received in server.requests:
                    received.wait_gone()
                    assert received.gone_at is not None
                    seen[received.json["messages"][-1]["content"]] = received.gone_at
                return seen

            service = InMemorySessionService() if store == "memory" else SqliteSessionService(tmp_path / f"{number}.db")
            model = ChatCompletions("any", base_url=server.base_url)
            _, missed = measure(store, service, model, ABORTS, gone)
            service.close()
            model.close()
        if not missed:
            break
    assert missed == []
