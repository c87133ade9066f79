"""Lines of text tables that are longer than a session allows, wherever they are read."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import NotAllowedError, ResourceError
from sharkpy.execution.restrictions import Restrictions

LINES = b"1,one\n2," + b"x" * 200 + b"\n3,three\n"


@pytest.fixture
def lines(tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    for folder, name, data in (
        ("plain", "a", LINES),
        ("packed", "a.gz", gzip.compress(LINES)),
        ("parts/day=a", "a", b"1,one\n"),
        ("parts/day=b", "b", LINES),
    ):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / name).write_bytes(data)
    form = "ROW FORMAT DELIMITED FIELDS TERMINATED BY ','"
    with sharkpy.connect("local[2]", tmp_path / "warehouse", shark_text_line_max_bytes="100") as context:
        for name, parted in (("plain", ""), ("packed", ""), ("parts", "PARTITIONED BY (day STRING)")):
            columns = f"(id INT, name STRING) {parted} {form} LOCATION '{tmp_path / name}'"
            context.sql(f"CREATE EXTERNAL TABLE {name} {columns}").close()
        context.sql("MSCK REPAIR TABLE parts").close()
        yield context


@pytest.mark.variants(3)
@pytest.mark.parametrize("placement", ["true", pytest.param("false", marks=pytest.mark.spark)])
@pytest.mark.parametrize("table", ["plain", "packed", "parts"])
def test_a_long_line_is_one_clear_error(lines: sharkpy.SharkContext, table: str, placement: str) -> None:
    if placement == "false":
        lines.sql("SET shark.placement.driver = false").close()
    with pytest.raises(
        ResourceError, match=rf"line at byte 6 .* shark.text.line.max.bytes allows, 100: .*{table}"
    ) as caught:
        lines.sql(f"SELECT id FROM {table}").fetchall()
    assert caught.value.sqlstate == "54000"
    assert lines.sql("SELECT id FROM parts WHERE day = 'a'").fetchall() == [(1,)]
    lines.sql("SET shark.text.line.max.bytes = 300").close()
    assert lines.sql(f"SELECT max(length(name)) FROM {table}").fetchall() == [(200,)]


def test_a_table_is_loaded_under_the_same_limit(lines: sharkpy.SharkContext) -> None:
    with pytest.raises(ResourceError, match="the line at byte 6"):
        lines.sql("CACHE TABLE plain").close()


def test_no_table_and_no_remote_session_raises_it(lines: sharkpy.SharkContext, tmp_path: Path) -> None:
    properties = "WITH SERDEPROPERTIES ('field.delim' = ',', 'shark.text.line.max.bytes' = '1000')"
    serde = "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe'"
    place = f"LOCATION '{tmp_path / 'plain'}'"
    lines.sql(f"CREATE EXTERNAL TABLE other (id INT, name STRING) {serde} {properties} {place}").close()
    with pytest.raises(ResourceError, match="allows, 100"):
        lines.sql("SELECT id FROM other").fetchall()
    remote = lines.new_session()
    remote.restrictions = Restrictions((tmp_path,), (), guards_settings=True)
    with pytest.raises(NotAllowedError):
        remote.sql("SET shark.text.line.max.bytes = 1000")
