"""Fixtures of several files about tasks."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from sharkpy.sources import split_rows
from sharkpy.sources.source import Split


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Split]:
    """Splits that were read."""
    found: list[Split] = []
    original = split_rows.read_split

    def noted(split: Split, *arguments: object) -> Iterator[pa.RecordBatch]:
        found.append(split)
        return original(split, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(split_rows, "read_split", noted)
    return found
