"""The buffer of a reader, step by step."""

from __future__ import annotations

import asyncio

from rxagent.serve.frames import Frame
from rxagent.serve.reader import Reader


def partial(text: str, after: int = 0) -> Frame:
    return Frame(text.encode(), None, after)


def stored(seq: int, size: int = 1) -> Frame:
    return Frame(b"%d" % seq + b"." * size, seq, seq - 1)


def test_frames_come_in_order() -> None:
    """What is offered is taken, in order, joined; the cursor follows the stored ones."""
    reader = Reader()
    for frame in (partial("a"), stored(1), partial("b", 1)):
        reader.offer(frame)
    assert reader.take() == b"a1.b"
    assert (reader.cursor, reader.take(), reader.behind) == (1, b"", False)


def test_partials_beyond_the_bound_go_first() -> None:
    """The oldest go; stored events stay."""
    reader = Reader()
    reader.offer(stored(1))
    for number in range(1000):
        reader.offer(partial(f"<{number}>", 1))
    taken = reader.take()
    assert taken.startswith(b"1.<")
    assert taken.endswith(b"<999>")
    assert taken.count(b"<") <= 256
    assert reader.dropped == 1000 - taken.count(b"<")
    assert not reader.behind


def test_too_many_stored_ones_are_left_to_the_log() -> None:
    """The buffer is emptied, and says that it is behind; what the log has told meanwhile is not told again."""
    reader = Reader()
    for seq in range(1, 101):
        reader.offer(stored(seq))
    assert reader.behind
    reader.behind, reader.cursor = False, 100
    reader.offer(partial("old", 99))
    reader.offer(stored(100))
    reader.offer(partial("new", 100))
    reader.offer(stored(101))
    assert reader.take() == b"new101."


def test_large_frames_are_bounded_too() -> None:
    """A megabyte is the bound, whatever the number; one that is larger by itself is kept."""
    reader = Reader()
    reader.offer(stored(1, 3 << 20))
    assert not reader.behind
    reader.offer(stored(2))
    assert reader.behind


def test_the_wait_ends_with_news() -> None:
    """True when something has come, the end included; False after the time."""

    async def scene() -> list[bool]:
        reader = Reader()
        found = [await reader.wait(0.01)]
        asyncio.get_running_loop().call_soon(reader.offer, stored(1))
        found.append(await reader.wait(5))
        reader.take()
        asyncio.get_running_loop().call_soon(reader.end)
        found.append(await reader.wait(5))
        return found

    assert asyncio.run(scene()) == [False, True, True]


def test_somebody_who_knows_the_log_sees_a_run_begin() -> None:
    """Partials before the run's first stored event come, whatever was stored before it; those that it has told do not.

    ::

        log     ... 7 (the run's message)         8
        reader      | a  b                          c
    """
    reader = Reader(7)
    reader.offer(partial("a"))
    assert reader.take() == b"a"
    reader.offer(partial("b"))
    reader.cursor = 8  # the log has told it
    reader.offer(partial("c", 8))
    assert reader.take() == b"c"
    late = Reader(7)
    late.offer(partial("old", 6))
    assert late.take() == b""
