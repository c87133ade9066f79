"""Epochs of a session with bounds stay within these, and use storage and catalogs as the engine's owner has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import NotAllowedError
from sharkpy.execution.restrictions import Restrictions
from sharkpy.session.connect import open_stream_session
from sharkpy.sources.storage.access import ACCESSES
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        yield context


@pytest.fixture
def guest(owner: sharkpy.SharkContext, tmp_path: Path) -> sharkpy.SharkContext:
    session = owner.new_session(shark_user="ann")
    warehouse, state = Path(owner.catalog.warehouse_dir), Path(owner.catalog.state_dir)
    session.restrictions = Restrictions((warehouse, tmp_path / "open"), (state,), True, remote=("s3://bucket/open",))
    put_numbers(tmp_path / "open" / "in", "a", [1, 7])
    make_stream(session, tmp_path / "open" / "in")
    return session


def test_links_that_lead_out(owner: sharkpy.SharkContext, guest: sharkpy.SharkContext, tmp_path: Path) -> None:
    found = tmp_path / "open" / "rows"
    found.mkdir()
    (found / "own.txt").write_text("1\n")
    (tmp_path / "secret").write_text("7\n")
    guest.sql(f"CREATE EXTERNAL TABLE e (n BIGINT) LOCATION '{found}'").close()
    joined = "SELECT numbers.n FROM numbers JOIN e ON numbers.n = e.n"
    guest.sql(f"CREATE CONTINUOUS TABLE within {NOW} AS {joined}").close()
    assert numbers(guest, "within") == [1]
    (found / "out.txt").symlink_to(tmp_path / "secret")
    with pytest.raises(NotAllowedError, match="out of this session's bounds"):
        guest.sql(f"CREATE CONTINUOUS TABLE out {NOW} AS {joined}").close()
    owner.sql(f"CREATE CONTINUOUS TABLE everything {NOW} AS {joined}").close()
    assert numbers(owner, "everything") == [1, 7]


def test_settings_lead_no_keys_elsewhere(owner: sharkpy.SharkContext, guest: sharkpy.SharkContext) -> None:
    place, key = "http://owner.example", "fs.s3a.endpoint"
    owner.sql(f"SET {key}={place}; SET fs.s3a.access.key=k; SET fs.s3a.secret.key=s").close()
    catalog = "iceberg.catalog.other"
    guest.sql(
        f"SET {key}=http://guest.example; SET {catalog}.uri=http://guest.example; SET {catalog}.type=rest"
    ).close()
    guest.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers").close()
    (query,) = owner.catalog.streams.queries()
    assert query.bounds == guest.restrictions.bounds
    session = open_stream_session(owner._shared, dict(query.settings), query.bounds)
    try:
        for access in (
            session.catalog.access_id("s3://bucket/shut/x"),
            session.catalog.named_access_id("s3://bucket/open/x"),
        ):
            assert ACCESSES.find(access).value(key) == place
        with pytest.raises(NotAllowedError):
            session.catalog.named_access_id("s3://bucket/shut/x")
        with pytest.raises(NotAllowedError):
            session.catalog.check_path("/etc/passwd")
        assert session.catalog.lakes._reach.conf is owner.conf  # type: ignore[union-attr]
    finally:
        session.stop()


def test_a_definition_anew_has_the_bounds_of_who_writes_it(
    owner: sharkpy.SharkContext, guest: sharkpy.SharkContext
) -> None:
    owner.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers").close()
    assert [query.bounds for query in owner.catalog.streams.queries()] == [None]
    guest.sql("ALTER CONTINUOUS TABLE t AS SELECT n + 1 AS n FROM numbers").close()
    assert [query.bounds for query in owner.catalog.streams.queries()] == [guest.restrictions.bounds]
