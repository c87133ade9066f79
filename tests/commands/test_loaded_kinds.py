"""LOAD DATA of files that are not of the table's format: told by their bytes, before they are the table's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SourceError

_FORMATS = ("PARQUET", "ORC", "AVRO", "RCFILE", "SEQUENCEFILE", "TEXTFILE")


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    folder = tmp_path_factory.mktemp("written")
    with sharkpy.connect(warehouse=tmp_path_factory.mktemp("warehouse")) as opened:
        opened.sql(f"SET hivevar:folder={folder}")
        for name in _FORMATS:
            # A text may begin with the letters of a format.
            query = "SELECT 'PAR1' AS s, 1 AS a"
            opened.sql(f"INSERT OVERWRITE LOCAL DIRECTORY '{folder}/{name}' STORED AS {name} {query}")
            opened.sql(f"CREATE TABLE of_{name} (s STRING, a INT) STORED AS {name}")
        yield opened


@pytest.mark.parametrize("table", _FORMATS)
def test_files_of_other_formats_are_refused(context: sharkpy.SharkContext, table: str) -> None:
    for name in _FORMATS:
        # Old RCFiles begin as sequence files do: reading tells them apart.
        if (name, table) == ("SEQUENCEFILE", "RCFILE"):
            continue
        statement = f"LOAD DATA LOCAL INPATH '${{folder}}/{name}' OVERWRITE INTO TABLE of_{table}"
        if name == table:
            context.sql(statement)
        else:
            with pytest.raises(SourceError, match="is not a") as raised:
                context.sql(statement)
            assert raised.value.sqlstate == "22000"
    assert [tuple(row) for row in context.sql(f"SELECT * FROM of_{table}").fetchall()] == [("PAR1", 1)]


def test_files_without_content_are_loaded(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    context.sql("CREATE TABLE empty_text (s STRING)")
    context.sql(f"LOAD DATA LOCAL INPATH '{tmp_path}' INTO TABLE empty_text")
    assert context.sql("SELECT count(*) FROM empty_text").fetchone() == (0,)
