"""`rxagent sessions`: what a file holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rxagent.cli import main
from rxagent.cli.options import APP_NAME
from rxagent.events import Content, Event, FunctionCall, FunctionResponse, Part
from rxagent.sessions import SqliteSessionService


@pytest.fixture
def db(folder: Path) -> str:
    """A file with two sessions of the shell and one of another app."""
    service = SqliteSessionService("c.db")
    first = service.create_session(APP_NAME, "me", session_id="s1")
    call = FunctionCall(id="c1", name="get_weather", args={"city": "Oslo"})
    response = FunctionResponse(id="c1", name="get_weather", response={"degrees": 21})
    for author, parts in (
        ("user", (Part(text="Weather?"),)),
        ("support", (Part(function_call=call),)),
        ("support", (Part(function_response=response),)),
        ("support", (Part(text="21 degrees.\n\x1b[31mIn Oslo."),)),
    ):
        service.append_event(first, Event(author=author, content=Content(role="user", parts=parts)))
    service.create_session(APP_NAME, "you", session_id="s2")
    service.create_session("other", "me", session_id="s3")
    service.close()
    return "c.db"


def test_without_an_action_it_lists(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`rxagent sessions --db FILE` lists the shell's sessions of all users, with the number of their events."""
    assert main(["sessions", "--db", db]) == 0
    head, *rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert head == ["session", "user", "events", "changed"]
    assert sorted(row[:3] for row in rows) == [["s1", "me", "4"], ["s2", "you", "0"]]
    assert main(["sessions", "list", "--db", db]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_another_app(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--app looks at the sessions of a program of one's own; an app without sessions is said to have none."""
    assert main(["sessions", "--db", db, "--app", "other"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("s3")
    assert main(["sessions", "--db", db, "--app", "none"]) == 0
    assert "c.db holds no sessions of app 'none'" in capsys.readouterr().err


@pytest.mark.parametrize("order", [["show", "s1", "--db", "c.db"], ["--db", "c.db", "show", "s1"]])
def test_show_tells_each_event(order: list[str], db: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each event is a line: number, author, what it says or calls; control characters of a stored text are left out."""
    assert main(["sessions", *order]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "  1  user: Weather?",
        '  2  support: -> get_weather(city="Oslo")',
        '  3  support: <- get_weather: {"degrees": 21}',
        "  4  support: 21 degrees.",
        "     [31mIn Oslo.",
    ]


def test_show_as_json(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints ADK's JSON, one event a line."""
    assert main(["sessions", "show", "s1", "--json", "--db", db]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line)["author"] for line in lines] == ["user", "support", "support", "support"]
    assert Event.model_validate_json(lines[1]).function_calls[0].args == {"city": "Oslo"}


def test_delete(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    """delete removes the session and says what it was; a second time there is none."""
    assert main(["sessions", "delete", "s1", "--db", db]) == 0
    assert "Deleted session 's1' with 4 events." in capsys.readouterr().err
    assert main(["sessions", "show", "s1", "--db", db]) == 1
    assert main(["sessions", "delete", "s1", "--db", db]) == 1
    assert "holds no session 's1' of user 'me'" in capsys.readouterr().err


def test_a_session_belongs_to_its_user(db: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Another user's session is found by --user only."""
    assert main(["sessions", "show", "s2", "--db", db]) == 1
    assert main(["sessions", "show", "s2", "--user", "you", "--db", db]) == 0
    assert "holds no session 's2' of user 'me'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"), [([], "name the file"), (["--db", "none.db"], "there is no file none.db")]
)
def test_looking_does_not_make_a_file(
    arguments: list[str], words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a file that exists it ends with 2; none is made."""
    assert main(["sessions", *arguments]) == 2
    assert words in capsys.readouterr().err
    assert not (folder / "none.db").exists()


def test_a_file_of_another_kind(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is no session file ends with 1 and says so."""
    (folder / "text.db").write_text("This is no database, however long it is." * 100)
    assert main(["sessions", "--db", "text.db"]) == 1
    assert "text.db" in capsys.readouterr().err
