"""`rxagent quirks`: the list, and the server in a process of its own."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from rxagent.cli import main
from rxagent.models import ChatCompletions
from rxagent.testing.quirks_corpus import quirk, quirks
from rxagent.testing.quirks_reading import read_model
from tests.models.calling import question

from . import shells


@contextmanager
def served(folder: Path, *options: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The base URL that the server's process prints, and the process, which is ended by Ctrl-C."""
    with shells.start(folder, "quirks", "serve", *options) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().decode().strip(), process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(10)


def test_the_list_names_all_or_those_that_begin_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Without an action, and with `list`, every quirk has its line; a beginning narrows it; none is told."""
    assert main(["quirks"]) == 0
    everything = capsys.readouterr().out
    assert [one.name for one in quirks() if one.name not in everything] == []
    assert main(["quirks", "list", "gzip-"]) == 0
    shown = capsys.readouterr().out
    assert "gzip-flushed" in shown
    assert "epam/ai-dial-core#1646" in shown
    assert "like gzip-flushed" in shown
    assert "calls-no-index" not in shown
    assert main(["quirks", "list", "tea"]) == 0
    assert "'tea'" in capsys.readouterr().err


@pytest.mark.parametrize("options", [(), ("--pieces", "1")])
def test_any_client_can_be_pointed_at_the_server(options: tuple[str, ...], tmp_path: Path) -> None:
    """It prints its base URL, plays the quirk that is the model's name, and ends with Ctrl-C."""
    with served(tmp_path, *options) as (url, process):
        for name in ("calls-no-index", "framing-crlf", "end-in-text"):
            with closing(ChatCompletions(name, url)) as model:
                assert read_model(model, question()).reading == quirk(name).expected
    assert process.returncode == 130


def test_a_port_that_is_taken_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """A port that cannot be had, or be one, ends with 2 and says what to do."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert main(["quirks", "serve", "--port", str(taken.getsockname()[1])]) == 2
    assert "--port" in capsys.readouterr().err
    for option, value in (("--port", "70000"), ("--port", "-1"), ("--pieces", "0")):
        with pytest.raises(SystemExit) as ended:
            main(["quirks", "serve", option, value])
        assert ended.value.code == 2
