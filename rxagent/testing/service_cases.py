"""ServiceCases: what the suites for services share: the service under test, and the values of what it answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from inspect import isawaitable
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import pytest

__all__ = ["ServiceCases"]


class _Service(Protocol):
    def close(self) -> object: ...


S = TypeVar("S", bound=_Service)


class ServiceCases(Generic[S]):
    """The base of a suite: `make_service`, and the service as the fixture `service`.

    A service whose methods return awaitables is run on an event loop of the test's own.
    """

    _loop: asyncio.AbstractEventLoop | None = None

    def make_service(self, folder: Path) -> S:
        """The service under test. folder: an empty one for this test.

        A shared service is made twice in some tests: the second one for the same folder must use the same store.
        """
        raise NotImplementedError("override make_service")

    @pytest.fixture
    def service(self, tmp_path: Path) -> Iterator[S]:
        """A service with an empty store, closed after the test."""
        service = self.make_service(tmp_path)
        try:
            yield service
        finally:
            self.done(service.close())
            if self._loop is not None:
                self._loop.close()
                self._loop = None

    def done(self, answer: Any) -> Any:
        """The value of what a service method returned."""
        if not isawaitable(answer):
            return answer
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        return self._loop.run_until_complete(_value(answer))


async def _value(answer: Any) -> Any:
    return await answer
