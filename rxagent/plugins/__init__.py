"""Hooks that see every run of a runner, and the loop that calls them."""

from .base import BasePlugin
from .manager import PluginManager, first

__all__ = ["BasePlugin", "PluginManager", "first"]
