"""Ownership of a table's files: by EXTERNAL, the property of that name, and external.table.purge."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, ConfigurationError, SharkError


@pytest.fixture
def context(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    with sharkpy.connect(warehouse=tmp_path / "warehouse") as made:
        yield made


def kind(context: sharkpy.SharkContext, table: str = "t") -> str:
    facts = {str(row[0]): row[1] for row in context.sql(f"DESCRIBE EXTENDED {table}").fetchall()}
    return str(facts["Type"])


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_a_managed_table_becomes_external(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """Making it external is the usual way to drop a table and keep its files."""
    context.sql("CREATE TABLE t (a INT) PARTITIONED BY (p INT)")
    context.sql("INSERT INTO t VALUES (1, 1), (2, 2)")
    context.sql("ALTER TABLE t SET TBLPROPERTIES ('EXTERNAL'='TRUE', 'comment'='kept')")
    assert kind(context) == "EXTERNAL"
    assert context.sql("SHOW CREATE TABLE t").fetchall()[0] == ("CREATE EXTERNAL TABLE `default`.`t`(",)
    with pytest.raises(BindError, match="is external"):
        context.sql("TRUNCATE TABLE t")
    context.sql("ALTER TABLE t DROP PARTITION (p = 1)")
    context.sql("DROP TABLE t")
    assert len(files(tmp_path / "warehouse" / "t")) == 2


def test_an_external_table_becomes_managed(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "f").write_text("1\n")
    context.sql(f"CREATE TABLE t (a INT) LOCATION '{folder}' TBLPROPERTIES ('EXTERNAL'='true')")
    assert kind(context) == "EXTERNAL"
    context.sql("ALTER TABLE t SET TBLPROPERTIES ('EXTERNAL'='False')")
    assert kind(context) == "MANAGED"
    context.sql("DROP TABLE t")
    assert not folder.exists()


def test_purge(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    """DROP deletes the files of an external table if it has the property."""
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "f").write_text("1\n")
    context.sql(f"CREATE EXTERNAL TABLE t (a INT) LOCATION '{folder}'")
    with pytest.raises(BindError, match=r"external\.table\.purge"):
        context.sql("TRUNCATE TABLE t")
    context.sql("ALTER TABLE t SET TBLPROPERTIES ('external.table.purge'='TRUE')")
    context.sql("TRUNCATE TABLE t")
    assert context.sql("SELECT count(*) FROM t").fetchall() == [(0,)]
    context.sql("INSERT INTO t VALUES (3)")
    context.sql("DROP TABLE t")
    assert not folder.exists()


def test_what_cannot_be(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    context.sql(f"CREATE EXTERNAL TABLE t (a INT) LOCATION '{tmp_path}'")
    with pytest.raises(BindError, match="holds the warehouse"):
        context.sql("ALTER TABLE t SET TBLPROPERTIES ('EXTERNAL'='FALSE')")
    with pytest.raises(ConfigurationError, match="TRUE or FALSE"):
        context.sql("ALTER TABLE t SET TBLPROPERTIES ('EXTERNAL'='yes')")
    context.sql("CREATE TEMPORARY TABLE s (a INT)")
    with pytest.raises(SharkError, match="neither external nor managed"):
        context.sql("ALTER TABLE s SET TBLPROPERTIES ('EXTERNAL'='TRUE')")
