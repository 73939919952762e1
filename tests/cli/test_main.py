"""The command line itself: its help, its exit codes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import rxagent
from rxagent.cli import main

from . import shells


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` tells the version."""
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"rxagent {rxagent.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-h"], ["run", "chat", "sessions", "examples:", "exit codes:", "RXAGENT_MODEL", "no key, no network"]),
        (["run", "-h"], ["MODULE:AGENT", "--session", "--user", "--db", "--json", "--model", "--base-url", "Ctrl-C"]),
        (["chat", "-h"], ["MODULE:AGENT", "--db", "--model", "--base-url", "Ctrl-C", "/new"]),
        (["sessions", "-h"], ["list", "show", "delete", "--db", "--app"]),
        (["sessions", "show", "-h"], ["--json", "--user"]),
    ],
)
def test_help_tells_what_there_is(arguments: list[str], words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Help names the commands and options, and shows examples."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert [word for word in words if word not in shown] == []


@pytest.mark.parametrize("arguments", [[], ["nope"], ["run"], ["run", "my_agents:echo"], ["sessions", "show"]])
def test_wrong_usage_is_exit_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """What the parser does not understand ends with 2 and the usage."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: rxagent" in capsys.readouterr().err


def test_help_loads_neither_engine_nor_rich() -> None:
    """Help and version come quickly: a command's modules are loaded when it runs."""
    code = (
        "import sys, rxagent.cli\n"
        "try: rxagent.cli.main(['-h'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'rich', 'reactivex', 'pydantic', 'requests', 'sqlite3'} & set(sys.modules)))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


def test_python_m_is_the_same(tmp_path: Path) -> None:
    """`python -m rxagent.cli` is `rxagent`."""
    assert shells.rxagent(tmp_path, "--version").stdout == f"rxagent {rxagent.__version__}\n"
