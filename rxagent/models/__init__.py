"""Models: what every model is, the client for any chat-completions server, the embedded one, and the registry."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from .base import BaseLlm
from .contents import Contents
from .request import FunctionDeclaration, GenerateContentConfig, LlmRequest
from .response import LlmResponse

if TYPE_CHECKING:
    from .chat_completions import ChatCompletions
    from .limits import Timeouts
    from .local import LocalModel
    from .profile import Profile
    from .profiles import profile_named
    from .registry import LlmRegistry
    from .wire_limits import WireLimits

__all__ = [
    "BaseLlm",
    "ChatCompletions",
    "Contents",
    "FunctionDeclaration",
    "GenerateContentConfig",
    "LlmRegistry",
    "LlmRequest",
    "LlmResponse",
    "LocalModel",
    "Profile",
    "Timeouts",
    "WireLimits",
    "profile_named",
]

_LATER: Final = {
    "ChatCompletions": ".chat_completions",
    "LlmRegistry": ".registry",
    "LocalModel": ".local",
    "Profile": ".profile",
    "Timeouts": ".limits",
    "WireLimits": ".wire_limits",
    "profile_named": ".profiles",
}


def __getattr__(name: str) -> Any:
    """Import a client at its first use: `import rxagent` stays cheap."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_LATER[name], __name__), name)
    globals()[name] = value
    return value
