"""`rxagent doctor`: what a chat-completions server does, and the profile to use for it."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from .exits import DONE
from .options import add_command

if TYPE_CHECKING:
    from rxagent.models.chat_probe import Finding, Probes

    from .options import Commands

__all__ = ["add_to"]

_EXAMPLES: Final = """\
examples:
  rxagent doctor http://127.0.0.1:8000/v1 --model qwen3
  rxagent doctor https://openrouter.ai/api/v1 --model openai/gpt-4o-mini --json

It sends about a dozen small requests; one of them is left in mid-answer. The API key is taken from RXAGENT_API_KEY,
then OPENAI_API_KEY. The exit code is 0 when the server answers, whatever is found of it.
"""


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "doctor",
        _examine,
        summary="see what a chat-completions server does, and which profile fits",
        description="Ask a chat-completions server about a dozen small things and say what it does.",
        examples=_EXAMPLES,
    )
    parser.add_argument("url", metavar="URL", help="the server, such as http://127.0.0.1:8000/v1")
    parser.add_argument("--model", metavar="NAME", help="a name that the server knows (RXAGENT_MODEL)")
    parser.add_argument(
        "--timeout", metavar="SECONDS", type=float, default=60.0, help="silence that is too long (%(default)g)"
    )
    parser.add_argument("--json", action="store_true", help="print a JSON object in place of a table")


def _examine(arguments: argparse.Namespace) -> int:
    """Raises UsageError without a model, ModelError when the server does not answer."""
    from rxagent.errors import UsageError
    from rxagent.models.chat_address import Address
    from rxagent.models.chat_exchange import Asker
    from rxagent.models.chat_probe import Probes
    from rxagent.models.limits import Timeouts
    from rxagent.models.profiles import profile_for

    model = arguments.model or os.environ.get("RXAGENT_MODEL")
    if not model:
        raise UsageError("name the model: rxagent doctor URL --model NAME")
    key = os.environ.get("RXAGENT_API_KEY") or os.environ.get("OPENAI_API_KEY")
    address = Address(arguments.url, key, {}, key_header=profile_for(arguments.url, model).key_header)
    timeouts = Timeouts(first_byte=arguments.timeout, idle=arguments.timeout)
    asker = Asker(address, model, timeouts)
    try:
        probes = Probes(asker, arguments.url)
        if arguments.json:
            sys.stdout.write(json.dumps(_report(probes, list(probes.run()), address.shown, asker), indent=2) + "\n")
        else:
            _show(probes, address.shown, asker)
    finally:
        asker.close()
    return DONE


def _show(probes: Probes, shown: str, asker: Any) -> None:
    from .open_screen import open_screen

    screen = open_screen()
    rows = []
    for finding in probes.run():
        screen.note(f"{finding.probe} ...")
        rows.append((finding.probe, finding.verdict, finding.detail))
    screen.line(f"{shown}, model {asker.model} ({probes.kind or 'an unknown kind of server'}; {asker.count} requests)")
    screen.table(("probe", "", "detail"), rows)
    screen.line("")
    screen.line(f"profile to use: {_in_python(probes)}")


def _report(probes: Probes, findings: list[Finding], shown: str, asker: Any) -> dict[str, Any]:
    return {
        "url": shown,
        "model": asker.model,
        "server": probes.kind,
        "requests": asker.count,
        "findings": [{"probe": one.probe, "verdict": one.verdict, "detail": one.detail} for one in findings],
        "profile": {
            "name": probes.profile.name,
            "changes": {name: _plain(value) for name, value in sorted(probes.learned.items())},
            "python": _in_python(probes),
        },
    }


def _in_python(probes: Probes) -> str:
    """The profile as one would write it."""
    name = probes.profile.name
    if not probes.learned:
        return f'profile="{name}"'
    changes = ", ".join(f"{field}={value!r}" for field, value in sorted(probes.learned.items()))
    return f'profile=replace(profile_named("{name}", model), {changes})'


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else value
