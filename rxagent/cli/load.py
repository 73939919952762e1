"""MODULE:AGENT becomes an agent."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType

from rxagent.agents import BaseAgent
from rxagent.errors import UsageError

__all__ = ["load_agent"]


def load_agent(target: str) -> BaseAgent:
    """The agent that `target` names: `my_agents:support`, or `my.package.agents:support`.

    Modules of the current directory are found first. Raises UsageError that says what was not found.
    """
    module_name, colon, attribute = target.partition(":")
    if not (module_name and colon and attribute):
        raise UsageError(f"{target!r} names no agent; write MODULE:AGENT, such as my_agents:support")
    module = _imported(module_name)
    if not hasattr(module, attribute):
        raise UsageError(f"module {module_name!r} has no {attribute!r}{_offer(module)}")
    agent: object = getattr(module, attribute)
    if not isinstance(agent, BaseAgent):
        raise UsageError(f"{target} is no agent but of type {type(agent).__name__}{_offer(module)}")
    return agent


def _imported(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise UsageError(
                f"there is no module {name!r}, neither in {here} nor among what is installed; "
                "go to the directory that holds it, or check the name"
            ) from error
        raise _broken(name, error) from error
    except Exception as error:
        raise _broken(name, error) from error


def _broken(name: str, error: Exception) -> UsageError:
    """A module that cannot be imported: the error, and the last place in it that it passed."""
    frames = traceback.extract_tb(error.__traceback__)
    where = next((f" ({frame.filename}:{frame.lineno})" for frame in reversed(frames) if _is_users(frame)), "")
    return UsageError(f"module {name!r} cannot be imported: {type(error).__name__}: {error}{where}")


def _is_users(frame: traceback.FrameSummary) -> bool:
    return "importlib" not in frame.filename and frame.filename != __file__


def _offer(module: ModuleType) -> str:
    """The agents that the module does have, in words."""
    names = sorted(name for name, value in vars(module).items() if isinstance(value, BaseAgent))
    return f"; its agents: {', '.join(names)}" if names else ""
