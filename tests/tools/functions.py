"""Functions that serve as tools."""

from __future__ import annotations

import asyncio
from typing import Literal

from rxagent.errors import ToolError
from rxagent.tools import CallContext

__all__ = [
    "INTERNAL",
    "AsyncShop",
    "Shop",
    "get_weather",
    "look_up",
    "no_city",
    "no_city_later",
    "refuse",
    "refuse_later",
]

INTERNAL = {"status": "error", "message": "An internal error occurred."}
"""The result of a tool that raised an error of its own."""


def get_weather(city: str, unit: Literal["C", "F"] = "C") -> dict[str, object]:
    """Current weather.

    Args:
        city: Name of the city.
        unit: Temperature unit.
    """
    return {"city": city, "degrees": 21, "unit": unit}


async def look_up(url: str, tool_context: CallContext) -> str:
    """Fetch a page."""
    await asyncio.sleep(0)
    return f"{tool_context.function_call_id}: {url}"


class Shop:
    """A shop."""

    def order(self, item: str) -> str:
        """Order an item."""
        return item

    def __call__(self, item: str) -> str:
        return item


class AsyncShop:
    async def __call__(self, item: str) -> str:
        """Order an item."""
        return item


def refuse() -> object:
    raise ValueError("secret detail")


async def refuse_later() -> object:
    raise ValueError("secret detail")


def no_city() -> object:
    raise ToolError("no such city")


async def no_city_later() -> object:
    raise ToolError("no such city")
