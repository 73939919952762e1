"""PluginManager: the one loop that calls the hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from rxagent.errors import ConfigError
from rxagent.streams import CancelScope, drop, guarded, settle

from .base import BasePlugin
from .hooks import HOOKS, check_hook

__all__ = ["PluginManager", "first"]


def first(hooks: Sequence[Callable[..., Any]], scope: CancelScope, *args: Any) -> Any:
    """Call the hooks in order until one returns something; waits for coroutines and Singles.

    A cancel of `scope`, also by a hook, leaves by Stopped before the next one, and after the last.
    """
    for hook in hooks:
        value = settle(hook(*args), scope)
        scope.check()  # what the hook has stopped does not go on
        if value is not None:
            return value
    return None


class PluginManager:
    """The plugins of a runner, by hook: a hook that no plugin overrides costs nothing.

    Raises ConfigError for two plugins of one name, for what is no plugin, and for a hook with the wrong parameters.
    """

    def __init__(self, plugins: Iterable[BasePlugin] = ()) -> None:
        self.plugins = tuple(plugins)
        names = [_name(plugin) for plugin in self.plugins]
        for name in names:
            if names.count(name) > 1:
                raise ConfigError(f"Plugin with name {name!r} already registered; give each plugin a name of its own")
        self._hooks: dict[str, tuple[Callable[..., Any], ...]] = {
            hook: tuple(getattr(plugin, hook) for plugin in self.plugins if _overrides(plugin, hook)) for hook in HOOKS
        }
        for hook, methods in self._hooks.items():
            for method in methods:
                check_hook(hook, method)

    def hooks(self, name: str) -> tuple[Callable[..., Any], ...]:
        """The bound methods of the plugins that override this hook."""
        return self._hooks[name]

    def first(self, name: str, scope: CancelScope, *args: Any) -> Any:
        """Ask the plugins in order until one answers."""
        return first(self._hooks[name], scope, *args)

    def each(self, name: str, scope: CancelScope, *args: Any) -> None:
        """Tell all plugins, in order; the first error stops the rest."""
        for hook in self._hooks[name]:
            settle(hook(*args), scope)
            scope.check()

    def each_guarded(self, name: str, scope: CancelScope, *args: Any) -> None:
        """Tell all plugins, in order; errors are logged, also a SystemExit: what follows the hooks must follow."""
        for hook in self._hooks[name]:
            try:
                settle(hook(*args), scope)
            except BaseException as error:
                drop(error, name)

    def close(self, scope: CancelScope) -> None:
        """Close all plugins; errors are logged."""
        for plugin in self.plugins:
            guarded("close", lambda plugin=plugin: settle(plugin.close(), scope))


def _overrides(plugin: BasePlugin, hook: str) -> bool:
    return getattr(type(plugin), hook) is not getattr(BasePlugin, hook) or hook in vars(plugin)


def _name(plugin: object) -> str:
    if not isinstance(plugin, BasePlugin):
        what = f"the class {plugin.__name__}" if isinstance(plugin, type) else f"a {type(plugin).__name__}"
        raise ConfigError(f"{what} is no plugin; give an object of a subclass of BasePlugin")
    name = getattr(plugin, "name", None)
    if not isinstance(name, str):
        raise ConfigError(f"a {type(plugin).__name__} has no name; call super().__init__(name) in its __init__")
    return name
