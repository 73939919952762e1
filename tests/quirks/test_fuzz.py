"""Random and mutated streams: what they may do to the parser, and what not."""

from __future__ import annotations

import contextlib
import json
import random
import subprocess
import sys
import tracemalloc
from collections import deque

import pytest

from rxagent.errors import ModelError
from rxagent.models.wire_body import BodyReader
from rxagent.models.wire_limits import WireLimits
from rxagent.testing import quirks_fuzz
from rxagent.testing.quirks_fuzz import BOMBS, bomb, cut_anywhere, fuzz, mutated
from rxagent.testing.quirks_parse import parse_body

MIB = 2**20


def test_mutated_streams_end_in_an_answer_or_in_an_error_of_rxagent() -> None:
    """Of 10,000 mutated streams none raises anything but rxagent's errors; all kinds of ends occur."""
    report = fuzz(10_000, seed=7)
    assert report.faults == []
    assert report.ends.total() == 10_000
    expected = {
        "answer",
        "ModelProtocolError",
        "ModelStreamTruncatedError",
        "ModelAnswerError",
        "ModelAnswerTooLargeError",
        "ModelEmptyAnswerError",
    }
    assert set(report.ends) == expected
    assert report.ends["answer"] > 1000, "streams that are all broken test little"


def test_a_fault_is_told_with_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception outside of the tree is reported with the seed that makes its stream again."""

    def broken(_: object, __: object) -> object:
        raise ZeroDivisionError("here")

    monkeypatch.setattr(quirks_fuzz, "parse_body", broken)
    report = fuzz(20, seed=1)
    assert report.ends == {"! ZeroDivisionError": 20}
    assert len(report.faults) == 5
    assert report.faults[0].startswith("seed ")
    assert "here" in report.faults[0]


def test_the_same_seed_makes_the_same_streams() -> None:
    """A stream, and a run, is made again by its seed, and others by other seeds; the pieces are the whole."""
    assert fuzz(500, seed=3).ends == fuzz(500, seed=3).ends != fuzz(500, seed=4).ends
    bodies = [b'data: {"a":1}\n\n', b"data: [DONE]\n\n"]
    made = [[mutated(bodies, random.Random(seed)) for seed in range(50)] for _ in range(2)]
    assert made[0] == made[1]
    assert len(set(made[0])) > 40
    for body in made[0]:
        assert b"".join(cut_anywhere(body, random.Random(3))) == body


@pytest.mark.parametrize("name", BOMBS)
@pytest.mark.parametrize("share", [0.96, 4], ids=["below the limit", "beyond"])
def test_what_never_ends_takes_no_more_than_its_limit(name: str, share: float) -> None:
    """A line, an event or a body without end is an error at its limit, and memory stays within 8 MiB above that."""
    limit = MIB // 4
    limits = WireLimits(line=limit, event=limit, body=limit, answer=limit)
    tracemalloc.start()
    try:
        with contextlib.suppress(ModelError):
            deque(parse_body([*bomb(name, int(share * limit)), BOMBS[name][2]], BodyReader(limits=limits)), maxlen=0)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < limit + 8 * MIB


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_default_limits_bound_the_memory_of_the_process() -> None:
    """At the limits that a client has without any option, no bomb makes the process grow by more than 8 MiB above."""
    code = "import json; from rxagent.testing.quirks_memory import *; from rxagent.models import WireLimits"
    code += "; print(json.dumps(bombs_above(WireLimits(), [0.16, 0.66])))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=240, check=True)
    above = json.loads(done.stdout)
    assert above.keys() == BOMBS.keys()
    assert max(above.values()) < 8, above
    assert max(above.values()) > 0, "no bomb came near its limit"
