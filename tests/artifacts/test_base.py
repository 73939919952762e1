"""A user's artifact service: five methods are enough, and they may return awaitables."""

from __future__ import annotations

from pathlib import Path

from rxagent.testing.artifact_suite import ArtifactServiceSuite

from .services import AsyncArtifacts


class TestAsync(ArtifactServiceSuite):
    """The conformance suite over coroutines."""

    def make_service(self, folder: Path) -> AsyncArtifacts:
        return AsyncArtifacts()
