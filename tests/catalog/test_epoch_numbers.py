"""The number of an epoch comes again after a rollback: an epoch that was computed before it does not count."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import TableChangedError
from sharkpy.catalog.catalog import Catalog
from sharkpy.catalog.continuous_query import ContinuousQuery, Trigger, TriggerKind
from sharkpy.catalog.stream_store import StreamFile
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


PLAIN = ContinuousQuery("query", "table", "SELECT 'ä' AS s", "default", ("one",))
DEFINED = [
    PLAIN,
    dataclasses.replace(PLAIN, trigger=Trigger(TriggerKind.EVERY, 0.25), settings=(("a", "1"), ("b", "")), user="me"),
    dataclasses.replace(PLAIN, streams=("one", "two"), targets=("t1", "t2"), bad_rows="bad", late_rows="late"),
    dataclasses.replace(PLAIN, start=(("one", (3, 0)),), start_words="LATEST", is_unbounded=True),
    dataclasses.replace(PLAIN, history="table", continued="one", epoch=4, offsets=(("one", (1, 2)), ("two", ()))),
]
OF_FORMAT_3 = (
    '{"table_id": "table", "text": "SELECT n", "database": "default", "streams": ["one"],'
    ' "trigger": ["AVAILABLE NOW", 0.0], "settings": [], "user": "root"}'
)


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    with closing(Catalog(tmp_path / "w")) as catalog:
        yield catalog


@pytest.mark.parametrize("query", DEFINED)
def test_an_epoch_counts_where_its_query_is_as_it_was(catalog: Catalog, query: ContinuousQuery) -> None:
    """Whatever the definition says: its text is that which the catalog has."""
    streams, after = catalog.streams, (("one", (9,)),)
    with catalog.transaction():
        streams.add(query)
    assert streams.get("query") == query
    for change in ({"text": "SELECT 2"}, {"user": "you"}, {"late_rows": "x"}, {"epoch": 77}, {"offsets": after}):
        with pytest.raises(TableChangedError), catalog.transaction():
            streams.end_epoch(dataclasses.replace(query, **change), after)
        assert streams.get("query") == query
    with catalog.transaction():
        streams.end_epoch(streams.get("query"), after)
    assert streams.get("query") == dataclasses.replace(query, epoch=query.epoch + 1, offsets=after)
    with pytest.raises(TableChangedError), catalog.transaction():
        streams.end_epoch(query, after)


def test_an_epoch_of_a_query_that_an_earlier_version_has_written(catalog: Catalog) -> None:
    with catalog.transaction():
        row = ("query", OF_FORMAT_3, "RUNNING", 3, '[["one", 3]]', "fault")
        catalog._file.run("INSERT INTO continuous_ VALUES (?, ?, ?, ?, ?, ?)", *row)
        catalog.streams.end_epoch(catalog.streams.get("query"), (("one", (4,)),))
    query = catalog.streams.get("query")
    assert (query.epoch, query.offsets, query.fault) == (4, (("one", (4,)),), "")


def test_numbers_of_files_do_not_come_again(catalog: Catalog) -> None:
    streams = catalog.streams

    def add(*names: str) -> list[tuple[int, str]]:
        with catalog.transaction():
            return [
                (one.number, one.name) for one in streams.add_files("s", [StreamFile(0, one, 1, 2) for one in names])
            ]

    def known() -> list[tuple[int, str]]:
        return [(one.number, one.name) for one in streams.files("s", 0, streams.end("s"))]

    assert add("a", "b") == [(0, "a"), (1, "b")]
    assert add("b", "c", "a", "d") == [(2, "c"), (3, "d")]
    assert add("c") == []
    with catalog.transaction():
        streams.forget_files("s", [0, 1, 2, 3])
    assert (known(), streams.end("s")) == ([], 4)
    assert add() == []
    assert streams.end("s") == 4
    assert add("a", "e") == [(4, "a"), (5, "e")]
    assert known() == [(4, "a"), (5, "e")]
    rows = catalog._file.rows("SELECT number FROM stream_file_ WHERE table_id = 's' ORDER BY number")
    assert [number for (number,) in rows] == [4, 5]
