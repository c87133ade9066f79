"""Nexmark's queries, kept up to date epoch by epoch, have the same answers as over all events at once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

import sharkpy
from bench.streaming.auctions import write_events
from bench.streaming.nexmark_queries import Query, make_streams, queries
from tests.rows import rows
from tests.streaming.clauses import MEMORY, NOW

EVENTS = (9900, 10600, 11400, 11500)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    folder = tmp_path_factory.mktemp("nexmark")
    for start, end in itertools.pairwise(EVENTS):
        write_events(folder / "events", start, end, seed=2)
    with sharkpy.connect("local[2]", folder / "w") as context:
        make_streams(context, folder / "events", files=1)
        yield context


def test_all_are_there() -> None:
    assert [one.name for one in queries()] == [f"q{number:02}" for number in range(24)]


@pytest.mark.variants(4)
@pytest.mark.parametrize("query", queries(), ids=lambda one: one.name)
def test_epochs_give_the_answer(house: sharkpy.SharkContext, query: Query) -> None:
    house.sql(f"CREATE CONTINUOUS TABLE {query.name} {query.clauses} {MEMORY} {NOW} AS {query.text}")
    assert len(rows(house, f"SHOW EPOCHS {query.name}")) == len(EVENTS) - 1
    found = sorted(map(repr, rows(house, query.answer)))
    assert found
    assert found == sorted(map(repr, rows(house, query.batch)))
