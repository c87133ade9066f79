"""Fixture that the zoo shares with the tests of storage: a server of S3."""

from __future__ import annotations

from tests.storage.conftest import no_keys_of_others, seaweed

__all__ = ["no_keys_of_others", "seaweed"]
