"""Contents: the conversation of a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableSequence
from itertools import islice
from typing import SupportsIndex, final, overload

from rxagent.events import Content

__all__ = ["Contents"]


@final
class Contents(MutableSequence[Content]):
    """What a request tells of the conversation: a list of its own, which it may share until somebody changes it.

    A request of a long run holds all that was said before; with the first `length` items of a growing list that its
    maker only ever appends to, it costs nothing to make. The first change copies them, so no request sees another's.

    ::

        maker      a b c ──────── d ───── e
        request 1  a b c                        of(maker, 3)
        request 2  a b c d  x                   of(maker, 4), append(x): a copy
    """

    __slots__ = ("_items", "_shared")

    def __init__(self, contents: Iterable[Content] = ()) -> None:
        self._items: list[Content]
        self._shared: int | None  # so many items of a list that is another's; None: it is ours
        if isinstance(contents, Contents) and contents._shared is not None:
            self._items, self._shared = contents._items, contents._shared
        else:
            self._items, self._shared = list(contents), None

    @classmethod
    def of(cls, growing: list[Content], length: int) -> Contents:
        """The first `length` items of a list that keeps them as they are."""
        made = cls()
        made._items, made._shared = growing, length
        return made

    def _own(self) -> list[Content]:
        if self._shared is not None:
            self._items, self._shared = self._items[: self._shared], None
        return self._items

    def __len__(self) -> int:
        return len(self._items) if self._shared is None else self._shared

    def __iter__(self) -> Iterator[Content]:
        return iter(self._items) if self._shared is None else islice(self._items, self._shared)

    @overload
    def __getitem__(self, index: SupportsIndex) -> Content: ...
    @overload
    def __getitem__(self, index: slice) -> list[Content]: ...
    def __getitem__(self, index: SupportsIndex | slice) -> Content | list[Content]:
        if self._shared is None:
            return self._items[index]
        places = range(self._shared)[index]
        return self._items[places] if isinstance(places, int) else [self._items[place] for place in places]

    @overload
    def __setitem__(self, index: SupportsIndex, value: Content) -> None: ...
    @overload
    def __setitem__(self, index: slice, value: Iterable[Content]) -> None: ...
    def __setitem__(self, index: SupportsIndex | slice, value: Content | Iterable[Content]) -> None:
        self._own()[index] = value  # type: ignore[index, assignment]

    def __delitem__(self, index: SupportsIndex | slice) -> None:
        del self._own()[index]

    def insert(self, index: SupportsIndex, value: Content) -> None:
        """As a list does."""
        self._own().insert(index, value)

    def __add__(self, other: Iterable[Content]) -> list[Content]:
        return [*self, *other]

    def __radd__(self, other: Iterable[Content]) -> list[Content]:
        return [*other, *self]

    def __eq__(self, other: object) -> bool:
        """True for a list, or contents, of equal items."""
        if not isinstance(other, list | Contents):
            return NotImplemented
        return len(self) == len(other) and all(map(_is_equal, self, other))

    __hash__ = None  # type: ignore[assignment]  # it can change

    def __repr__(self) -> str:
        return repr(list(self))


def _is_equal(one: Content, other: Content) -> bool:
    return one is other or one == other
