"""What metadata of Iceberg's that others have written can make the engine do: nothing but read local files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyiceberg", reason="the extra iceberg is not installed")

import sharkpy
from sharkpy.base.errors import SourceError, UnsupportedError
from tests.lake.tables import own_catalog, rows, run


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(warehouse=tmp_path_factory.mktemp("warehouse")) as opened:
        run(opened, "CREATE TABLE t (a INT) STORED BY ICEBERG", "INSERT INTO t VALUES (1), (2)")
        yield opened


def changed(context: sharkpy.SharkContext, folder: Path, change: Any) -> str:
    """File with the metadata of the table after a change, as somebody writes it who can write a folder."""
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
    with pytest.raises(UnsupportedError, match="have to be local"):
        rows(context, f"SELECT a FROM iceberg.`{place}`")


def test_pipes_are_not_waited_for(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    pipe = tmp_path / "list.avro"
    os.mkfifo(pipe)
    place = changed(context, tmp_path, lambda body: body["snapshots"][-1].update({"manifest-list": str(pipe)}))
    with pytest.raises(SourceError, match="no regular file"):
        rows(context, f"SELECT a FROM iceberg.`{place}`")


@pytest.mark.parametrize("key", ["py-io-impl", "write.py-location-provider.impl", "write.metadata.path"])
def test_properties_that_lead_elsewhere_are_not_set(context: sharkpy.SharkContext, key: str) -> None:
    with pytest.raises(UnsupportedError, match=key):
        run(context, f"ALTER TABLE t SET TBLPROPERTIES ('{key}'='a.b')")
    with pytest.raises(UnsupportedError, match=key):
        run(context, f"CREATE TABLE other (a INT) STORED BY ICEBERG TBLPROPERTIES ('{key}'='a.b')")


def test_commits_run_no_code_of_others(context: sharkpy.SharkContext) -> None:
    run(context, "CREATE TABLE led (a INT) STORED BY ICEBERG")
    table = own_catalog(context).load_table("default.led")
    with table.transaction() as transaction:
        transaction.set_properties({"py-io-impl": "no.such.module"})
    assert rows(context, "SELECT * FROM led") == []
    with pytest.raises(UnsupportedError, match="py-io-impl"):
        run(context, "INSERT INTO led VALUES (1)")
