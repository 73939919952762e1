"""InMemoryArtifactService keeps what every artifact service promises."""

from __future__ import annotations

from pathlib import Path

from rxagent.artifacts import InMemoryArtifactService
from rxagent.testing.artifact_suite import ArtifactServiceSuite


class TestMemory(ArtifactServiceSuite):
    """The conformance suite in memory."""

    def make_service(self, folder: Path) -> InMemoryArtifactService:
        return InMemoryArtifactService()
