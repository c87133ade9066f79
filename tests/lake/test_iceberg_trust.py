"""Effects of Iceberg metadata that other programs have written: the engine reads local files and does nothing else."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")

import sharkpy
from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import BindError, CancelledError, NotAllowedError, SharkError, SourceError, UnsupportedError
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import StorageFormat, Table, TableKind
from sharkpy.execution.restrictions import Restrictions
from sharkpy.sources.lake.iceberg.catalogs import IcebergCatalogs
from sharkpy.sources.lake.lake_format import LakeHome, LakeReach
from sharkpy.values.types import Schema
from tests.lake.tables import own_catalog, run
from tests.rows import rows


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(warehouse=tmp_path_factory.mktemp("warehouse")) as opened:
        run(opened, "CREATE TABLE t (a INT) STORED BY ICEBERG", "INSERT INTO t VALUES (1), (2)")
        yield opened


def changed(context: sharkpy.SharkContext, folder: Path, change: Any) -> str:
    """File with the metadata of the table after a change by a user who can write the folder."""
    place = own_catalog(context).load_table("default.t").metadata_location.removeprefix("file://")
    body = json.loads(Path(place).read_text())
    change(body)
    made = folder / "metadata" / "v7.metadata.json"
    made.parent.mkdir(parents=True, exist_ok=True)
    made.write_text(json.dumps(body))
    return str(folder)


def test_properties_run_no_code(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    made = tmp_path / "made"
    command = {"sh": "", "-c": "", f"touch {made}": "", "py-io-impl": "subprocess.Popen"}
    place = changed(context, tmp_path, lambda body: body.update(properties=command))
    assert rows(context, f"SELECT a FROM iceberg.`{place}` ORDER BY a") == [(1,), (2,)]
    assert not made.exists()


def test_lists_are_local(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    def change(body: dict[str, Any]) -> None:
        body["properties"] = {"s3.endpoint": "http://127.0.0.1:1"}
        body["snapshots"][-1]["manifest-list"] = "s3://bucket/list.avro"

    place = changed(context, tmp_path, change)
    with pytest.raises(UnsupportedError, match="the remote file"):
        rows(context, f"SELECT a FROM iceberg.`{place}`")


def test_pipes_are_not_waited_for(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    pipe = tmp_path / "list.avro"
    os.mkfifo(pipe)
    place = changed(context, tmp_path, lambda body: body["snapshots"][-1].update({"manifest-list": str(pipe)}))
    with pytest.raises(SourceError, match="device or a pipe"):
        rows(context, f"SELECT a FROM iceberg.`{place}`")


@pytest.mark.parametrize(
    "key", ["py-io-impl", "write.py-location-provider.impl", "write.metadata.path", "s3.secret-access-key"]
)
def test_properties_that_lead_elsewhere_are_not_set(context: sharkpy.SharkContext, key: str) -> None:
    with pytest.raises(UnsupportedError, match=key):
        run(context, f"ALTER TABLE t SET TBLPROPERTIES ('{key}'='a.b')")
    with pytest.raises(UnsupportedError, match=key):
        run(context, f"CREATE TABLE other (a INT) STORED BY ICEBERG TBLPROPERTIES ('{key}'='a.b')")


def test_keys_to_storage_are_not_shown(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    properties = {"s3.secret-access-key": "hidden", "owner": "ann"}
    place = changed(context, tmp_path, lambda body: body.update(properties=properties))
    run(context, f"CREATE EXTERNAL TABLE keyed STORED BY ICEBERG LOCATION '{place}'")
    for statement in ("SHOW TBLPROPERTIES keyed", "DESCRIBE FORMATTED keyed", "SHOW CREATE TABLE keyed"):
        found = str(rows(context, statement))
        assert "hidden" not in found, statement
    assert "ann" in str(rows(context, "SHOW TBLPROPERTIES keyed"))


def test_an_entry_stays_that_of_its_table(context: sharkpy.SharkContext) -> None:
    """Otherwise the entry would belong to another table of the catalog, and DROP would drop that table."""
    run(context, "CREATE TABLE mine (a INT) STORED BY ICEBERG TBLPROPERTIES ('name'='default.theirs')")
    for clause, key in (
        ("SET TBLPROPERTIES ('iceberg.catalog'='other')", "iceberg.catalog"),
        ("SET TBLPROPERTIES ('name'='default.t')", "name"),
        ("UNSET TBLPROPERTIES ('name')", "name"),
    ):
        with pytest.raises(UnsupportedError, match=f"changing {key} of default.mine"):
            run(context, f"ALTER TABLE mine {clause}")
    run(context, "ALTER TABLE mine SET TBLPROPERTIES ('name'='default.theirs', 'k'='v')", "DROP TABLE mine")
    assert rows(context, "SELECT count(*) FROM t") == [(2,)]


def test_commits_run_no_code_of_others(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE led (a INT) STORED BY ICEBERG")
    table = own_catalog(context).load_table("default.led")
    with table.transaction() as transaction:
        transaction.set_properties({"py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"})
    assert rows(context, "SELECT * FROM led") == []
    with pytest.raises(UnsupportedError, match="py-io-impl"):
        run(context, "INSERT INTO led VALUES (1)")


def test_metadata_of_another_table_at_the_place(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    place = changed(context, tmp_path, lambda _: None)
    assert rows(context, f"SELECT count(*) FROM iceberg.`{place}`") == [(2,)]
    changed(context, tmp_path, lambda body: body.update({"current-snapshot-id": None, "refs": {}}))
    assert rows(context, f"SELECT count(*) FROM iceberg.`{place}`") == [(0,)]


def test_values_for_files_without_a_column_are_refused(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    def change(body: dict[str, Any]) -> None:
        added = {"id": 9, "name": "b", "required": False, "type": "int", "initial-default": 7, "write-default": 7}
        body["format-version"], body["next-row-id"] = 3, 0
        body["schemas"][0]["fields"].append(added)
        body["last-column-id"] = 9

    place = changed(context, tmp_path, change)
    with pytest.raises(UnsupportedError, match='column "b"'):
        rows(context, f"SELECT b FROM iceberg.`{place}`")


def test_names_that_differ_by_case_alone_are_refused(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    def change(body: dict[str, Any]) -> None:
        body["schemas"][0]["fields"].append({"id": 9, "name": "A", "required": False, "type": "int"})
        body["last-column-id"] = 9

    place = changed(context, tmp_path, change)
    with pytest.raises(UnsupportedError, match='two columns "a"'):
        rows(context, f"SELECT a FROM iceberg.`{place}`")


def test_only_a_folder_of_its_own_goes_with_a_table(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    place = changed(context, tmp_path, lambda _: None)
    above = context.catalog.warehouse_dir
    (Path(above) / "metadata").symlink_to(Path(place) / "metadata")
    run(context, f"CREATE EXTERNAL TABLE around STORED BY ICEBERG LOCATION '{above}'")
    with pytest.raises(BindError, match="holds the warehouse"):
        run(context, "ALTER TABLE around SET TBLPROPERTIES ('external.table.purge'='true')")
    run(context, "DROP TABLE around")


def test_a_catalog_that_does_not_answer_ends_with_the_statement(tmp_path: Path) -> None:
    catalogs = IcebergCatalogs(LakeHome(str(tmp_path), str(tmp_path), is_read_only=False))
    properties = (("iceberg.catalog", "slow"), ("name", "a.b"))
    schema, storage = Schema(()), StorageFormat("iceberg")
    entry = Table("id", "default", "t", TableKind.EXTERNAL, schema, storage, properties=properties)
    statement = Cancellation()
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"http://127.0.0.1:{server.getsockname()[1]}"
        conf = Conf({"iceberg.catalog.slow.type": "REST", "iceberg.catalog.slow.uri": uri})
        threading.Timer(0.2, statement.cancel).start()
        with statement.active(), pytest.raises(CancelledError):
            catalogs.load(entry, LakeReach(lambda: conf, lambda *_: ""))


def test_certificates_of_a_catalog_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, Any] = {}

    def load(name: str, **options: Any) -> Any:
        seen.update(options, name=name)
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr("sharkpy.sources.lake.iceberg.catalogs.load_catalog", load)
    start = "iceberg.catalog.default"
    conf = Conf({f"{start}.type": "rest", f"{start}.uri": "https://host", f"{start}.ssl.cabundle": "/ca.pem"})
    entry = Table("id", "default", "t", TableKind.EXTERNAL, Schema(()), StorageFormat("iceberg"))
    IcebergCatalogs(LakeHome(str(tmp_path), str(tmp_path), is_read_only=False)).find(entry, conf)
    assert seen.pop("py-io-impl").startswith("sharkpy.")
    assert seen.pop("py-catalog-impl").startswith("sharkpy.")
    assert seen == {"name": "default", "uri": "https://host", "ssl": {"cabundle": "/ca.pem"}}


@pytest.fixture
def guest(context: sharkpy.SharkContext, tmp_path: Path) -> sharkpy.SharkContext:
    """A session of the server that may name addresses, and the files in one folder."""
    session = context.new_session(shark_user="ann")
    session.restrictions = Restrictions((tmp_path / "open",), (Path(context.catalog.state_dir),), guards_settings=True)
    return session


def test_remote_sessions_name_no_catalogs(guest: sharkpy.SharkContext, tmp_path: Path) -> None:
    run(
        guest,
        "SET iceberg.catalog.mine.type=sql",
        f"SET iceberg.catalog.mine.uri=sqlite:///{tmp_path}/mine.sqlite",
    )
    with pytest.raises(SharkError, match="no settings say"):
        run(guest, "CREATE EXTERNAL TABLE x STORED BY ICEBERG TBLPROPERTIES ('iceberg.catalog'='mine', 'name'='a.b')")
    assert not (tmp_path / "mine.sqlite").exists()


def test_tables_of_a_catalog_lie_in_bounds(guest: sharkpy.SharkContext) -> None:
    found = "STORED BY ICEBERG TBLPROPERTIES ('name'='default.t')"
    with pytest.raises(NotAllowedError, match="out of this session's bounds"):
        run(guest, f"CREATE EXTERNAL TABLE x {found}")
    assert guest.catalog.find_entry("default", "x") is None


def test_lists_of_files_lie_in_bounds(
    context: sharkpy.SharkContext, guest: sharkpy.SharkContext, tmp_path: Path
) -> None:
    place = changed(context, tmp_path / "open", lambda _: None)
    with pytest.raises(NotAllowedError, match="out of this session's bounds"):
        rows(guest, f"SELECT count(*) FROM iceberg.`{place}`")
