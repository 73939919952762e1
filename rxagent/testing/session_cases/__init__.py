"""The cases of the session services' conformance suite, by subject."""

from .log import LogCases
from .state import StateCases
from .turns import TurnCases

__all__ = ["LogCases", "StateCases", "TurnCases"]
