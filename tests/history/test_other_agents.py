"""What other agents did, told as context."""

from __future__ import annotations

from rxagent.events import Blob, Part
from rxagent.history.contents import build_contents

from .logs import call, responds, response, said, sent, user


def test_other_agents_are_told_as_context() -> None:
    """f02: texts, calls and responses of other agents become context; their thoughts and blanks do not."""
    assert sent(
        user("old q"),
        said("other", Part(text="think", thought=True), "said", call("o1", x=1)),
        responds("other", response("o1", y=[1, 2])),
        said("other", Part(text="only thought", thought=True)),
        said("other", "  "),
        said("root", "mine"),
        user("hi"),
    ) == [
        "user: old q",
        'user: For context: | [other] said: said | [other] called tool `t` with parameters: {"x":1}',
        'user: For context: | [other] `t` tool returned result: {"y":[1,2]}',
        "model: mine",
        "user: hi",
    ]


def test_files_of_other_agents_are_sent_as_they_are() -> None:
    """A file or a picture of another agent stands verbatim behind the words that open the context."""
    picture = Part(inline_data=Blob(mime_type="image/png", data=b"1"))
    (content,) = build_contents([said("other", picture)], agent_name="root")
    assert content.parts == (Part(text="For context:"), picture)
