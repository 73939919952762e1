"""The table of promises."""

from __future__ import annotations

import pytest

from tests.promises import plugin
from tests.promises.plugin import IDS, Mark, read_ids, verdict

PARTS = ("llm", "loop")


def marks(*claims: tuple[str, str]) -> list[Mark]:
    return [Mark("J6", part, test) for part, test in claims]


def test_every_promise_is_listed_once() -> None:
    """ids.txt has J1 to J39, A1 to A17 and C1 to C46."""
    ids = read_ids(IDS.read_text())
    assert list(ids) == [
        f"{letter}{n}" for letter, last in (("J", 39), ("A", 17), ("C", 46)) for n in range(1, last + 1)
    ]
    assert sum(not line.startswith("#") for line in IDS.read_text().splitlines()) == len(ids)


@pytest.mark.parametrize(
    ("parts", "claims", "outcomes", "said"),
    [
        ((), [], {}, "no test"),
        ((), [("", "a")], {"a": "passed"}, "kept (1 test)"),
        ((), [("", "a"), ("", "b")], {"a": "passed", "b": "skipped"}, "not run (1 of 2 tests)"),
        ((), [("", "a"), ("", "b")], {"a": "passed", "b": "failed"}, "broken (1 of 2 tests)"),
        ((), [("", "a")], {}, "not run (1 of 1 test)"),
        (PARTS, [("llm", "a"), ("loop", "b")], {"a": "passed", "b": "passed"}, "kept (2 tests)"),
        (PARTS, [("llm", "a")], {"a": "passed"}, "partial (1 of 2 parts)"),
        (PARTS, [("llm", "a"), ("loop", "b")], {"a": "passed", "b": "skipped"}, "partial (1 of 2 parts)"),
        (PARTS, [("", "a")], {"a": "passed"}, "partial (0 of 2 parts)"),
        (PARTS, [("llm", "a")], {"a": "skipped"}, "not run (1 test)"),
        (PARTS, [("llm", "a"), ("loop", "a"), ("", "b")], {"a": "passed"}, "not run (1 of 2 tests)"),
        (PARTS, [("llm", "a"), ("loop", "b")], {"a": "passed", "b": "failed"}, "broken (1 of 2 tests)"),
    ],
)
def test_verdicts(parts: tuple[str, ...], claims: list[tuple[str, str]], outcomes: dict[str, str], said: str) -> None:
    """Kept means that every part has a test and all tests of the promise passed."""
    assert verdict(parts, marks(*claims), outcomes) == said


def run(pytester: pytest.Pytester, source: str, *options: str) -> pytest.RunResult:
    pytester.makepyfile(source)
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", plugin.__name__, *options)


def test_the_table_of_a_run(pytester: pytest.Pytester) -> None:
    """`--promises` prints one line a promise; a skip, an expected failure and a deselected test are not run."""
    result = run(
        pytester,
        """
        import pytest

        @pytest.mark.promise("J1")
        def test_good(): pass

        @pytest.mark.promise("J2")
        @pytest.mark.promise("J13", "after_run")
        def test_bad(): assert False

        @pytest.mark.promise("J3")
        def test_skipped(): pytest.skip("no")

        @pytest.mark.promise("J7")
        @pytest.mark.xfail
        def test_expected(): assert False

        @pytest.mark.promise("J8")
        @pytest.mark.xfail(strict=False)
        def test_unexpected(): pass

        @pytest.fixture
        def leaky():
            yield
            raise RuntimeError("left behind")

        @pytest.mark.promise("J9")
        def test_leaks(leaky): pass

        @pytest.mark.promise("J10")
        def test_left_out(): pass

        @pytest.mark.promise("J14", "paused", "aborted")
        def test_two_parts(): pass
        """,
        "--promises",
        "-k",
        "not left_out",
    )
    said = dict(line.split(" ", 1) for line in result.outlines if line[:1] in "JAC" and line[1:2].isdigit())
    assert len(said) == 102
    assert {key: value for key, value in said.items() if value != "no test"} == {
        "J1": "kept (1 test)",
        "J2": "broken (1 of 1 test)",
        "J3": "not run (1 of 1 test)",
        "J7": "not run (1 of 1 test)",
        "J8": "not run (1 of 1 test)",
        "J9": "broken (1 of 1 test)",
        "J10": "not run (1 of 1 test)",
        "J13": "broken (1 of 1 test)",
        "J14": "partial (2 of 5 parts)",
    }
    assert "102 promises: 1 kept, 1 partial, 3 broken, 4 not run, 93 no test" in result.outlines


@pytest.mark.parametrize(
    ("mark", "fault"),
    [
        ('"J99"', "no promise 'J99'"),
        ("", "no promise ''"),
        ('"J13", "tea"', "promise J13 has no part 'tea'; its parts: after_run, compaction"),
        ('"J1", "tea"', "promise J1 has no part 'tea'; its parts: none"),
    ],
)
def test_unknown_marks_stop_the_run(pytester: pytest.Pytester, mark: str, fault: str) -> None:
    """A mark with an unknown promise or part fails collection and says what is wrong."""
    result = run(pytester, f"import pytest\n\n@pytest.mark.promise({mark})\ndef test_it(): pass\n")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"test_unknown_marks_stop_the_run.py::test_it: {fault}" in "\n".join(result.errlines + result.outlines)
