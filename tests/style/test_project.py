"""The files around the code fit together."""

from __future__ import annotations

import os
import re
import subprocess
import tomllib

import pytest

from .trees import ROOT

PYPROJECT = (ROOT / "pyproject.toml").read_text()
PROJECT = tomllib.loads(PYPROJECT)["project"]
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
CI = ROOT / ".ci" / "run"


def test_every_dependency_has_its_reason() -> None:
    """Each dependency stands on a line of its own, with a comment that says what it is for."""
    groups = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    for dependency in {one for group in groups for one in group}:
        lines = [line for line in PYPROJECT.splitlines() if f'"{dependency}"' in line]
        assert lines
        for line in lines:
            assert re.search(r",\s+# \w.{10,}", line), line


def test_the_project_says_what_it_is() -> None:
    """Licence, Python, the console script and the extras are those that the README promises."""
    assert PROJECT["license"] == "Apache-2.0"
    assert PROJECT["requires-python"] == ">=3.11"
    assert PROJECT["scripts"] == {"rxagent": "rxagent.cli:main"}
    assert set(PROJECT["optional-dependencies"]) == {"cli", "local", "serve", "dev"}
    for extra in PROJECT["optional-dependencies"]:
        assert f"| `{extra}`" in README
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_the_changelog_has_this_version() -> None:
    """CHANGELOG.md has a section for the version of pyproject.toml, or collects what comes next."""
    changes = (ROOT / "CHANGELOG.md").read_text()
    assert "## [Unreleased]" in changes or f"## [{PROJECT['version']}]" in changes


@pytest.mark.parametrize("target", ["demo", "test", "check", "promises", "bench"])
def test_make_targets(target: str) -> None:
    """Every target that a user may type is known to make and named in its help."""
    result = subprocess.run(
        ["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert result.returncode == 0, result.stderr
    assert f"make {target} " in MAKEFILE


def test_ci_runs_what_the_readme_says() -> None:
    """CI calls the commands of the README, and fails when one of them does."""
    text = CI.read_text()
    assert os.access(CI, os.X_OK)
    assert "set -euo pipefail" in text
    loop = re.search(r"for target in (.*); do", text)
    assert loop
    assert loop.group(1).split()[-1] == "test"  # its closing line is what a reader of the log looks for
    for target in loop.group(1).split():
        assert f"make {target}" in README
