"""The number of an epoch comes again after a rollback: an epoch that was computed before it does not count."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import TableChangedError
from tests.streaming.folder_input import make_stream, put_numbers


def test_an_epoch_from_before_a_rollback_does_not_count(tmp_path: Path) -> None:
    with sharkpy.connect("local[1]", tmp_path / "w") as context:
        make_stream(context, tmp_path / "in")
        put_numbers(tmp_path / "in", "a", range(3))
        context.sql("CREATE CONTINUOUS TABLE t TRIGGER AVAILABLE NOW AS SELECT n FROM numbers").close()
        streams = context.catalog.streams
        (query,) = streams.queries()
        ((stream, (end,)),) = query.offsets
        before = dataclasses.replace(query, offsets=((stream, (end + 5,)),))
        with pytest.raises(TableChangedError, match="epoch 2 was written"), context.catalog.transaction():
            streams.end_epoch(before, ((stream, (end + 9,)),))
        with context.catalog.transaction():
            streams.end_epoch(query, ((stream, (end + 1,)),))
        assert streams.get(query.query_id).epoch == 2
