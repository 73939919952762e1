"""ServeSettings: what is the same for all requests."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ServeSettings"]


class ServeSettings(NamedTuple):
    """How a server behaves.

    token: what requests must bring as `Authorization: Bearer ...`; None: nothing. cors: origins whose pages may read
    answers; none by default. hosts: names in the Host header that are served (without port); None: all. Give it when
    listening on loopback, else a web page can reach the server by a name of its own that points there.
    max_body: bytes of a request's body. keep_alive: seconds of silence after which a comment is sent.
    public: paths that need no token, besides /health; one that ends with `/*` stands for all below it.
    """

    token: str | None = None
    cors: tuple[str, ...] = ()
    hosts: frozenset[str] | None = None
    max_body: int = 8 << 20
    keep_alive: float = 15.0
    public: frozenset[str] = frozenset()

    def __repr__(self) -> str:  # the token must not stand in a log
        return f"<ServeSettings {'with' if self.token else 'without'} a token, cors {list(self.cors)}>"
