"""A real Hive metastore as a catalog of Iceberg: tables are made, written, met by several writers, and dropped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")

import sharkpy
from sharkpy.base.errors import SourceError, TableExistsError, TableNotFoundError
from sharkpy.sources.lake.iceberg.hive import LakeHiveCatalog, _Client, _Connections
from tests.catalog.metastore_server import metastore_server
from tests.lake.tables import check_writers_meet, run
from tests.rows import rows

pytestmark = [pytest.mark.timeout(900)]
WRITERS, EACH = 3, 3


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a metastore that has the tables of its locks: it makes them only in tests."""
    with metastore_server(tmp_path_factory.mktemp("hive"), **{"hive.in.test": "true"}) as found:
        yield found


def settings(address: str, takes_locks: bool = False) -> dict[str, str]:
    beginning = "iceberg.catalog.prod"
    return {
        f"{beginning}.type": "hive",
        f"{beginning}.uri": address,
        f"{beginning}.engine.hive.lock-enabled": str(takes_locks).lower(),
    }


@contextmanager
def opened(folder: Path, address: str, *, takes_locks: bool = False) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(warehouse=folder, **settings(address, takes_locks)) as context:
        yield context


def made(name: str) -> str:
    return f"STORED BY ICEBERG TBLPROPERTIES ('iceberg.catalog'='prod', 'name'='default.{name}')"


@pytest.mark.slow
@pytest.mark.parametrize("takes_locks", [True, False], ids=["locks", "conditions"])
def test_a_table_of_a_metastore(address: str, tmp_path: Path, takes_locks: bool) -> None:
    name = f"t{takes_locks}".lower()
    with opened(tmp_path, address, takes_locks=takes_locks) as context:
        run(
            context,
            f"CREATE TABLE {name} (id BIGINT, word STRING) PARTITIONED BY SPEC (bucket(2, id)) {made(name)}",
            f"INSERT INTO {name} VALUES (1, 'a'), (2, NULL), (3, 'c')",
            f"UPDATE {name} SET word = 'new' WHERE id = 2",
            f"ALTER TABLE {name} ADD COLUMNS (more INT)",
            f"ALTER TABLE {name} SET TBLPROPERTIES ('note'='kept')",
        )
        expected = [(1, "a", None), (2, "new", None), (3, "c", None)]
        assert rows(context, f"SELECT * FROM {name} ORDER BY id") == expected
        with pytest.raises(TableExistsError, match="leave the columns out"):
            context.sql(f"CREATE TABLE again (id BIGINT) {made(name)}")
        run(context, f"CREATE EXTERNAL TABLE again {made(name)}", "INSERT INTO again VALUES (4, 'd', 5)")
        assert rows(context, f"SELECT count(*), sum(more) FROM {name}") == [(4, 5)]
        with _Connections({"uri": address}) as client:
            parameters = client.get_table("default", name).parameters
        assert (parameters["table_type"], parameters["note"]) == ("ICEBERG", "kept")
        run(context, "DROP TABLE again", f"DROP TABLE {name}")
        with _Connections({"uri": address}) as client:
            assert name not in client.get_all_tables("default")
        with pytest.raises(TableNotFoundError):
            context.sql(f"CREATE EXTERNAL TABLE again {made(name)}")


@pytest.mark.slow
@pytest.mark.parametrize("takes_locks", [True, False], ids=["locks", "conditions"])
def test_writers_meet(address: str, tmp_path: Path, takes_locks: bool) -> None:
    """No row of theirs is lost, and none is written twice."""
    name = f"met{takes_locks}".lower()
    with opened(tmp_path, address, takes_locks=takes_locks) as context:
        run(context, f"CREATE TABLE {name} (writer INT, number INT) {made(name)}")
        check_writers_meet(context, name, WRITERS, EACH)


@pytest.mark.slow
def test_metadata_that_others_have_changed(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The metastore refuses metadata that were made from an older version than its own; an append is tried again."""
    alter, calls = _Client.alter_table_with_environment_context, list[str]()

    def meet(client: Any, **given: Any) -> None:
        calls.append(given["tbl_name"])
        if len(calls) == 1:
            run(other, "INSERT INTO t VALUES (2)")
        alter(client, **given)

    with opened(tmp_path / "a", address) as context, opened(tmp_path / "b", address) as other:
        run(context, f"CREATE TABLE t (a INT) {made('conditional')}", "INSERT INTO t VALUES (1)")
        run(other, f"CREATE EXTERNAL TABLE t {made('conditional')}")
        monkeypatch.setattr(_Client, "alter_table_with_environment_context", meet)
        run(context, "INSERT INTO t VALUES (3)")
        assert len(calls) == 3
        assert rows(context, "SELECT a FROM t ORDER BY a") == rows(other, "SELECT a FROM t ORDER BY a")
        assert rows(context, "SELECT a FROM t ORDER BY a") == [(1,), (2,), (3,)]


@pytest.mark.slow
def test_a_table_says_itself_that_it_takes_no_locks(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, str]] = []
    alter = _Client.alter_table_with_environment_context

    def noted(client: Any, **asked: Any) -> None:
        alter(client, **asked)
        given.append(dict(asked["environment_context"].properties))

    monkeypatch.setattr(_Client, "alter_table_with_environment_context", noted)
    with opened(tmp_path, address, takes_locks=True) as context:
        properties = "'iceberg.catalog'='prod', 'name'='default.own', 'engine.hive.lock-enabled'='false'"
        run(context, f"CREATE TABLE own (a INT) STORED BY ICEBERG TBLPROPERTIES ({properties})")
        run(context, "INSERT INTO own VALUES (1)")
    assert [one.get("expected_parameter_key") for one in given] == ["metadata_location"]


def test_a_metastore_that_does_not_answer(tmp_path: Path) -> None:
    with opened(tmp_path, "thrift://127.0.0.1:1, thrift://127.0.0.1:2") as context:
        with pytest.raises(SourceError, match="does not answer") as error:
            context.sql(f"CREATE EXTERNAL TABLE t {made('t')}")
        assert error.value.sqlstate == "08006"


def test_connections_of_several_threads_are_apart() -> None:
    catalog = LakeHiveCatalog("c", uri="thrift://127.0.0.1:1")
    connections: Any = catalog._client
    first = connections._transports
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(connections._transports))
    thread.start()
    thread.join()
    assert first is connections._transports
    assert found[0] is not first
