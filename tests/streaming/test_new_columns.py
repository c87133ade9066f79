"""Files that have columns which their stream lacks: left out, added to the stream, or a reason to stop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import sharkpy
from sharkpy.base.errors import BindError, ConfigurationError, SharkError, UnsupportedError
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, numbers, put, put_numbers, state_of, until_numbers
from tests.waiting import until

KEY = "stream.new.columns"


def set_policy(context: sharkpy.SharkContext, policy: str, stream: str = "numbers") -> None:
    context.sql(f"ALTER TABLE {stream} SET TBLPROPERTIES ('{KEY}' = '{policy}')")


def columns_of(context: sharkpy.SharkContext, name: str = "numbers") -> list[tuple[object, ...]]:
    return [row[:2] for row in rows(context, f"DESCRIBE {name}")]


OWN: list[tuple[object, ...]] = [("n", "bigint"), ("s", "string")]
LINES = [
    {"n": 1, "s": "a", "Whole": 7, "part": 1, "is_it": True, "big": 1 << 63, "mixed": 1, "none": None},
    {"n": 2, "s": "b", "part": 1.5, "word": "w", "list": [1], "object": {"a": 1}, "mixed": "x"},
]
FOUND: list[tuple[object, ...]] = [
    ("whole", "bigint"),
    ("part", "double"),
    ("is_it", "boolean"),
    ("big", "string"),
    ("mixed", "string"),
    ("word", "string"),
    ("list", "string"),
    ("object", "string"),
]


@pytest.mark.variants(2)
@pytest.mark.parametrize("policy", ["", "ignore"])
def test_new_columns_are_left_out(context: sharkpy.SharkContext, folder: Path, policy: str) -> None:
    make_stream(context, folder)
    if policy:
        set_policy(context, policy)
    put(folder, "a", LINES)
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT * FROM numbers")
    assert numbers(context) == [1, 2]
    assert columns_of(context) == OWN


def test_added_columns_are_those_of_later_queries(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    set_policy(context, "add")
    put_numbers(folder, "a", [0])
    context.sql(f"CREATE CONTINUOUS TABLE before {NOW} AS SELECT * FROM numbers")
    assert columns_of(context) == OWN
    put(folder, "b", LINES)
    context.sql("RESUME CONTINUOUS TABLE before")
    assert (numbers(context, "before"), columns_of(context, "before")) == ([0, 1, 2], OWN)
    assert columns_of(context) == [*OWN, *FOUND]
    context.sql(f"CREATE CONTINUOUS TABLE after {NOW} AS SELECT * FROM numbers")
    assert columns_of(context, "after") == [*OWN, *FOUND]
    values = rows(context, "SELECT n, whole, part, is_it, big, mixed, word, list, object FROM after ORDER BY n")
    assert values == [
        (0, *[None] * 8),
        (1, 7, 1.0, True, str(1 << 63), "1", None, None, None),
        (2, None, 1.5, None, None, "x", "w", "[1]", '{"a": 1}'),
    ]
    put(folder, "c", [{"n": 3, "none": 1}])
    context.sql("RESUME CONTINUOUS TABLE after")
    assert columns_of(context)[-1] == ("none", "bigint")
    assert columns_of(context, "after") == [*OWN, *FOUND]
    assert numbers(context, "after") == [0, 1, 2, 3]


def test_columns_of_several_files_of_an_epoch_have_one_type(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    set_policy(context, "add")
    put(folder, "a", [{"n": 1, "x": 1, "y": 1}])
    put(folder, "b", [{"n": 2, "x": 1.5, "y": "one"}, {"n": 3, "X": 2}])
    context.sql("CREATE CONTINUOUS TABLE t TRIGGER ONCE AS SELECT n FROM numbers")
    assert columns_of(context) == [*OWN, ("x", "double"), ("y", "string")]


@pytest.mark.parametrize("mend", ["ADD COLUMNS (x BIGINT)", f"SET TBLPROPERTIES ('{KEY}' = 'ignore')"])
def test_new_columns_stop_a_query(context: sharkpy.SharkContext, folder: Path, mend: str) -> None:
    make_stream(context, folder)
    set_policy(context, "stop")
    put_numbers(folder, "a", [1])
    context.sql("CREATE CONTINUOUS TABLE t AS SELECT n FROM numbers")
    until_numbers(context, [1])
    path = put(folder, "b", [{"n": 2, "s": "b", "x": 5, "Y": None}])
    until(lambda: state_of(context)[0] == "STOPPED")
    fault = state_of(context)[1] or ""
    assert f'"{path}" has columns that the stream default.numbers lacks: x; ALTER' in fault
    assert "ALTER TABLE default.numbers ADD COLUMNS (`x` bigint)" in fault
    assert numbers(context) == [1]
    context.sql("ALTER CONTINUOUS TABLE t TRIGGER AVAILABLE NOW")
    with pytest.raises(BindError) as raised:
        context.sql("RESUME CONTINUOUS TABLE t")
    assert raised.value.sqlstate == "42703"
    context.sql(f"ALTER TABLE numbers {mend}")
    context.sql("RESUME CONTINUOUS TABLE t")
    assert numbers(context) == [1, 2]
    assert [(row[0], row[1]) for row in rows(context, "SHOW EPOCHS t")] == [(2, "WRITTEN"), (1, "WRITTEN")]


def write_parquet(path: Path, table: pa.Table) -> None:
    pq.write_table(table, path)


def write_orc(path: Path, table: pa.Table) -> None:
    pyarrow.orc.write_table(table, path)


def write_avro(path: Path, table: pa.Table) -> None:
    types = {"n": "long", "s": "string", "X": "int", "at": {"type": "record", "name": "at", "fields": []}}
    types["at"]["fields"] = [{"name": "Lat", "type": "double"}]  # type: ignore[index]
    fields = [{"name": name, "type": ["null", types[name]]} for name in table.column_names]
    schema = fastavro.parse_schema({"type": "record", "name": "row", "fields": fields})
    with path.open("wb") as file:
        fastavro.writer(file, schema, table.to_pylist())


PLAIN = pa.table({"n": [1], "s": ["a"]})
WIDER = pa.table({"n": [2], "X": pa.array([3], pa.int32()), "s": ["b"], "at": [{"Lat": 1.5}]})
WRITERS: dict[str, Callable[[Path, pa.Table], None]] = {
    "PARQUET": write_parquet,
    "ORC": write_orc,
    "AVRO": write_avro,
}


@pytest.mark.parametrize("form", WRITERS)
def test_formats_with_a_schema(context: sharkpy.SharkContext, folder: Path, form: str) -> None:
    folder.mkdir()
    properties = f"TBLPROPERTIES ('{KEY}' = 'stop')"
    context.sql(f"CREATE STREAM numbers (n BIGINT, s STRING) STORED AS {form} {properties} FROM FOLDER '{folder}'")
    WRITERS[form](folder / "a", PLAIN)
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    WRITERS[form](folder / "b", WIDER)
    with pytest.raises(BindError, match="lacks: x, at"):
        context.sql("RESUME CONTINUOUS TABLE t")
    set_policy(context, "add")
    context.sql("RESUME CONTINUOUS TABLE t")
    assert numbers(context) == [1, 2]
    assert columns_of(context) == [*OWN, ("x", "int"), ("at", "struct<lat:double>")]
    assert rows(context, "SELECT n, s, x, at.lat FROM numbers ORDER BY n") == [(1, "a", None, None), (2, "b", 3, 1.5)]


def test_csv_with_a_header(context: sharkpy.SharkContext, folder: Path) -> None:
    folder.mkdir()
    clauses = f"USING csv OPTIONS (header 'true', inferSchema 'true') TBLPROPERTIES ('{KEY}' = 'add')"
    context.sql(f"CREATE STREAM numbers (n BIGINT, s STRING) {clauses} FROM FOLDER '{folder}'")
    (folder / "a").write_text("n,s\n1,a\n")
    (folder / "b").write_text("n,s,X\n2,b,5\n")
    context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    assert columns_of(context) == [*OWN, ("x", "int")]
    assert rows(context, "SELECT n, x FROM numbers ORDER BY n") == [(1, None), (2, 5)]
    (folder / "c").write_text("n,y,s\n3,5,c\n")
    with pytest.raises(BindError, match="y does not stand behind the known columns") as raised:
        context.sql("RESUME CONTINUOUS TABLE t")
    assert "'ignore'" in str(raised.value)


def test_a_name_that_no_column_can_have_is_refused(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    set_policy(context, "add")
    put(folder, "a", [{"n": 1, "input__file__name": "x"}])
    with pytest.raises(BindError, match='"input__file__name" cannot be the name of a column'):
        context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    assert columns_of(context) == OWN


def test_more_new_columns_than_a_stream_can_get(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    set_policy(context, "add")
    put(folder, "a", [{f"x{number}": 1} for number in range(1001)])
    with pytest.raises(BindError, match="more than 1000") as raised:
        context.sql(f"CREATE CONTINUOUS TABLE t {NOW} AS SELECT n FROM numbers")
    assert raised.value.sqlstate == "54011"
    set_policy(context, "stop")
    with pytest.raises(BindError, match="and 981 more"):
        context.sql("RESUME CONTINUOUS TABLE t")


@pytest.mark.parametrize(
    ("statement", "error", "words"),
    [
        ("CREATE STREAM x (n INT) STORED AS JSONFILE {} FROM FOLDER '/x'", ConfigurationError, "no value|not a value"),
        ("CREATE STREAM x (n INT) {} FROM PROGRAM", UnsupportedError, "FROM PROGRAM"),
        ("CREATE STREAM x {} FROM RATE", UnsupportedError, "FROM RATE"),
        ("CREATE STREAM x (n INT) STORED AS TEXTFILE {} FROM FOLDER '/x'", UnsupportedError, "in the format text"),
        ("CREATE STREAM x (n INT) USING csv {} FROM FOLDER '/x'", UnsupportedError, "in the format csv"),
    ],
)
def test_what_cannot_be_is_refused(
    context: sharkpy.SharkContext, statement: str, error: type[SharkError], words: str
) -> None:
    value = "maybe" if error is ConfigurationError else "stop"
    with pytest.raises(error, match=words):
        context.sql(statement.format(f"TBLPROPERTIES ('{KEY}' = '{value}')"))
    assert rows(context, "SHOW STREAMS") == []


def test_altering_to_what_cannot_be_is_refused(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    with pytest.raises(ConfigurationError, match="one of ignore, add, stop"):
        set_policy(context, "maybe")
    context.sql("CREATE STREAM ticks FROM RATE")
    with pytest.raises(UnsupportedError, match="FROM RATE"):
        set_policy(context, "add", "ticks")
    with pytest.raises(BindError, match="cannot change it so"):
        context.sql("ALTER TABLE ticks ADD COLUMNS (x INT)")
    with pytest.raises(UnsupportedError, match="a constraint of a stream"):
        context.sql("ALTER TABLE numbers ADD COLUMNS (x INT NOT NULL)")


def test_a_property_that_was_without_effect_before_stays_so(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE STREAM numbers (n BIGINT) STORED AS TEXTFILE FROM FOLDER '{folder}'")
    for value in ("stop", "maybe"):
        stream = context.catalog.table("default", "numbers")
        context.catalog.alter_table(dataclasses.replace(stream, properties=((KEY, value),)))
        folder.mkdir(exist_ok=True)
        (folder / value).write_text("1\n")
        context.sql(f"CREATE CONTINUOUS TABLE {value} {NOW} AS SELECT n FROM numbers")
    assert numbers(context, "maybe") == [1, 1]
