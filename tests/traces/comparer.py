"""Comparer: two traces up to a renaming of generated ids."""

from __future__ import annotations

import re
from typing import Any

from .views import ID

__all__ = ["Comparer", "symbolised"]

_SYMBOL = re.compile(r"\$[eic]\d+")


class Comparer:
    """Compares what was expected, with symbols, to what came, with real ids; the bijection is built on the way."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._symbols: dict[str, str] = {}
        self.differences: list[str] = []

    def compare(self, expected: Any, actual: Any, where: str = "trace") -> None:
        """Note every difference, with its place."""
        if isinstance(expected, dict) and isinstance(actual, dict):
            self._compare_dicts(expected, actual, where)
        elif isinstance(expected, list) and isinstance(actual, list):
            for index, (one, other) in enumerate(zip(expected, actual, strict=False)):
                self.compare(one, other, f"{where}[{index}]")
            for index in range(len(actual), len(expected)):
                self._note(f"{where}[{index}]", expected[index], "nothing")
            for index in range(len(expected), len(actual)):
                self._note(f"{where}[{index}]", "nothing", actual[index])
        elif isinstance(expected, str) and isinstance(actual, str):
            if not self._same_text(expected, actual):
                self._note(where, expected, actual)
        elif type(expected) is bool or type(actual) is bool:
            if expected is not actual:
                self._note(where, expected, actual)
        elif expected != actual:
            self._note(where, expected, actual)

    def _compare_dicts(self, expected: dict[str, Any], actual: dict[str, Any], where: str) -> None:
        left = dict(actual)
        for key, value in expected.items():
            found = next((name for name in left if self._same_text(key, name)), None)
            if found is None:
                self._note(f"{where}.{key}", value, "nothing")
            else:
                self.compare(value, left.pop(found), f"{where}.{key}")
        for key, value in left.items():
            self._note(f"{where}.{key}", "nothing", value)

    def _same_text(self, expected: str, actual: str) -> bool:
        symbols = _SYMBOL.findall(expected)
        if not symbols:
            return expected == actual
        pattern = ID.pattern.join(re.escape(piece) for piece in _SYMBOL.split(expected))
        if re.fullmatch(pattern, actual) is None:
            return False
        ids = [match.group() for match in ID.finditer(actual)]
        return len(ids) == len(symbols) and all(map(self._bind, symbols, ids))

    def _bind(self, symbol: str, id: str) -> bool:
        return self._ids.setdefault(symbol, id) == id and self._symbols.setdefault(id, symbol) == symbol

    def _note(self, where: str, expected: Any, actual: Any) -> None:
        self.differences.append(f"{where}:\n    expected {_short(expected)}\n    came     {_short(actual)}")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 300 else f"{text[:300]}..."


def symbolised(trace: dict[str, Any]) -> dict[str, Any]:
    """The trace with symbols for its generated ids, numbered as they appear."""
    symbols: dict[str, str] = {}

    def symbol(match: re.Match[str]) -> str:
        kind = {"adk-": "c", "e-": "i"}.get(match.group(1) or "", "e")
        number = 1 + sum(name[1] == kind for name in symbols.values())
        return symbols.setdefault(match.group(), f"${kind}{number}")

    def walk(value: Any) -> Any:
        if isinstance(value, str):
            return ID.sub(symbol, value)
        if isinstance(value, list):
            return [walk(item) for item in value]
        return {walk(key): walk(item) for key, item in value.items()} if isinstance(value, dict) else value

    return {part: walk(trace[part]) for part in sorted(trace, key=lambda name: name != "timeline")}
