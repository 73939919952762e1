"""Help for tests: of agents, of session services, and of rxagent itself."""

from __future__ import annotations

from .scripted_model import ScriptedModel, call, gate, pause, thought, usage

__all__ = ["ScriptedModel", "call", "gate", "pause", "thought", "usage"]
