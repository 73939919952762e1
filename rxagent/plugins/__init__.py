"""Hooks that see every run of a runner, and the loop that calls them."""

from .base import BasePlugin
from .hooks import check_hook, wrong_answer
from .manager import PluginManager, first

__all__ = ["BasePlugin", "PluginManager", "check_hook", "first", "wrong_answer"]
