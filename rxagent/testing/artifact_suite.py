"""ArtifactServiceSuite: what every artifact service must do, as tests to run on one's own.

::

    class TestMyService(ArtifactServiceSuite):
        def make_service(self, folder):
            return MyService(folder)

pytest collects the subclass. A service whose methods return awaitables is run on an event loop of the test's own.
"""

from __future__ import annotations

import threading
import time
from inspect import isawaitable
from typing import Any

import pytest

from rxagent.artifacts import BaseArtifactService
from rxagent.errors import UsageError
from rxagent.events import Blob, Part

from .service_cases import ServiceCases

__all__ = ["ArtifactServiceSuite"]

PLACE = ("app", "me", "s1")
_ODD = [".", "..", "../../etc/passwd", "/abs", "a/b", "a b", "ä€😀", "%41", "\x00", "user:x/../y", "x" * 900]
NAMES = ["a.txt", "A.txt", *_ODD]


class ArtifactServiceSuite(ServiceCases[BaseArtifactService]):
    """The conformance tests. Override `make_service`; see `rxagent.artifacts.BaseArtifactService` for the promises."""

    def save(self, service: BaseArtifactService, name: str, text: str, place: tuple[str, str, str] = PLACE) -> Any:
        """Save a text; its version."""
        return self.done(service.save_artifact(*place, name, Part(text=text)))

    def text(
        self,
        service: BaseArtifactService,
        name: str,
        version: int | None = None,
        place: tuple[str, str, str] = PLACE,
    ) -> str | None:
        """The text of an artifact, or None."""
        part = self.done(service.load_artifact(*place, name, version))
        return None if part is None else part.text

    def test_versions_count_from_zero(self, service: BaseArtifactService) -> None:
        """Each save is a version of its own, from 0; the newest is loaded when none is named."""
        assert [self.save(service, "f", text) for text in ("one", "two", "three")] == [0, 1, 2]
        assert self.text(service, "f") == "three"
        assert [self.text(service, "f", version) for version in (0, 1, 2)] == ["one", "two", "three"]
        assert self.done(service.list_versions(*PLACE, "f")) == [0, 1, 2]

    def test_what_is_not_there(self, service: BaseArtifactService) -> None:
        """What was never saved is None, without versions and keys; looking for it makes no key."""
        self.save(service, "f", "one")
        assert self.text(service, "g") is None
        assert self.text(service, "f", 1) is None
        assert self.text(service, "f", -1) is None
        assert self.done(service.list_versions(*PLACE, "g")) == []
        assert self.done(service.list_artifact_keys(*PLACE)) == ["f"]
        assert self.done(service.list_artifact_keys("app", "me", "s2")) == []

    def test_times_of_versions(self, service: BaseArtifactService) -> None:
        """When a version was saved is told in seconds since 1970, or is None; it is None for what is not there."""
        before = time.time()
        self.save(service, "f", "one")
        at = self.done(service.saved_at(*PLACE, "f", 0))
        assert at is None or before - 2 <= at <= time.time() + 2  # file systems round
        assert self.done(service.saved_at(*PLACE, "f", 1)) is None
        assert self.done(service.saved_at(*PLACE, "g", 0)) is None

    def test_bytes_and_all_else_come_back(self, service: BaseArtifactService) -> None:
        """A part is loaded as it was saved, its bytes and its unknown fields too."""
        part = Part.model_validate({"inlineData": {"mimeType": "x/y", "displayName": "d"}, "videoMetadata": {"fps": 1}})
        part = part.model_copy(update={"inline_data": Blob(mime_type="x/y", data=bytes(range(256)))})
        self.done(service.save_artifact(*PLACE, "f", part))
        assert self.done(service.load_artifact(*PLACE, "f")) == part

    def test_sessions_do_not_see_each_other(self, service: BaseArtifactService) -> None:
        """An artifact belongs to its app, user and session."""
        self.save(service, "f", "mine")
        for place in (("app", "me", "s2"), ("app", "you", "s1"), ("other", "me", "s1")):
            assert self.text(service, "f", place=place) is None
            assert self.done(service.list_artifact_keys(*place)) == []

    def test_user_artifacts_are_shared(self, service: BaseArtifactService) -> None:
        """A name with the prefix `user:` is one artifact for all sessions of the user, and not for other users."""
        self.save(service, "user:f", "one")
        assert self.save(service, "user:f", "two", ("app", "me", "s2")) == 1
        assert self.text(service, "user:f") == "two"
        assert self.done(service.list_artifact_keys("app", "me", "s3")) == ["user:f"]
        assert self.done(service.list_artifact_keys("app", "you", "s1")) == []
        assert self.text(service, "f") is None

    def test_delete(self, service: BaseArtifactService) -> None:
        """A deleted artifact is gone with all versions, and starts over; deleting what is not there is no error."""
        self.done(service.delete_artifact(*PLACE, "f"))
        for name in ("f", "f", "g", "user:f"):
            self.save(service, name, name)
        self.done(service.delete_artifact(*PLACE, "f"))
        assert self.text(service, "f") is None
        assert self.text(service, "f", 0) is None
        assert self.done(service.list_versions(*PLACE, "f")) == []
        assert self.done(service.list_artifact_keys(*PLACE)) == ["g", "user:f"]
        assert self.save(service, "f", "again") == 0

    def test_keys_are_sorted(self, service: BaseArtifactService) -> None:
        """Keys come sorted, each once, however many versions there are."""
        for name in ("b", "user:a", "a", "b", "z"):
            self.save(service, name, name)
        assert self.done(service.list_artifact_keys(*PLACE)) == ["a", "b", "user:a", "z"]

    def test_any_text_is_a_name(self, service: BaseArtifactService) -> None:
        """Names are texts, not paths: odd ones work, stay apart, and are listed as they were given."""
        for name in NAMES:
            assert self.save(service, name, name) == 0, name
        assert [self.text(service, name) for name in NAMES] == NAMES
        assert self.done(service.list_artifact_keys(*PLACE)) == sorted(NAMES)

    def test_an_empty_name_is_refused(self, service: BaseArtifactService) -> None:
        """A name must say something."""
        for name in ("", "user:"):
            with pytest.raises(UsageError, match="needs a file name"):
                self.save(service, name, "x")

    def test_many_writers(self, service: BaseArtifactService) -> None:
        """Versions saved from several threads at once are all there, each under a number of its own."""
        if isawaitable(answer := service.save_artifact(*PLACE, "f", Part(text="first"))):
            self.done(answer)
            pytest.skip("the methods return awaitables, which belong to one loop")
        saved: list[tuple[int, str]] = []
        start = threading.Barrier(4, timeout=10)

        def write(who: int) -> None:
            start.wait()
            saved.extend((self.save(service, "f", f"{who}.{n}"), f"{who}.{n}") for n in range(5))

        threads = [threading.Thread(target=write, args=(who,)) for who in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert sorted(version for version, _ in saved) == list(range(1, 21))
        assert all(self.text(service, "f", version) == text for version, text in saved)
