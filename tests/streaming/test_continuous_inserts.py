"""Continuous inserts: ordinary tables get the rows of a stream once, in whole epochs, next to the rows of other
statements.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError
from sharkpy.sources.folders.table_folder import table_folder
from tests.rows import rows
from tests.streaming.clauses import NOW
from tests.streaming.folder_input import make_stream, numbers, put_numbers, state_of, until_numbers
from tests.waiting import until

CACHED = "TBLPROPERTIES ('shark.cache' = 'MEMORY')"
FORMS = {
    "plain": "STORED AS PARQUET",
    "text": "STORED AS TEXTFILE",
    "cached": f"STORED AS PARQUET {CACHED}",
    "parts": "PARTITIONED BY (s STRING) STORED AS PARQUET",
    "cached_parts": f"PARTITIONED BY (s STRING) STORED AS PARQUET {CACHED}",
}


def make(context: sharkpy.SharkContext, name: str, form: str = "plain") -> None:
    columns = "(n BIGINT)" if "parts" in form else "(n BIGINT, s STRING)"
    context.sql(f"CREATE TABLE {name} {columns} {FORMS[form]}")


def newest(context: sharkpy.SharkContext, name: str) -> tuple[int | None, int]:
    """Last generation that counts, by the catalog and in the table's folder."""
    table = context.catalog.table("default", name)
    folder = table_folder(table.location or "", context.catalog)
    return context.catalog.newest_generation(table), folder.newest()


@pytest.mark.variants(3)
@pytest.mark.parametrize("form", FORMS)
def test_all_targets_get_their_rows(context: sharkpy.SharkContext, folder: Path, form: str) -> None:
    make_stream(context, folder)
    make(context, "evens", form)
    make(context, "odds")
    context.sql("INSERT INTO evens VALUES (100, 'x')")
    put_numbers(folder, "a", range(4))
    context.sql(
        "CREATE CONTINUOUS INSERT halves AS FROM numbers"
        " INSERT INTO evens SELECT n, s WHERE n % 2 = 0 INSERT INTO odds SELECT n, 'odd' WHERE n % 2 = 1"
    )
    until_numbers(context, [0, 2, 100], "evens")
    put_numbers(folder, "b", range(4, 8))
    until_numbers(context, [0, 2, 4, 6, 100], "evens")
    assert sorted(rows(context, "SELECT n, s FROM odds")) == [(n, "odd") for n in (1, 3, 5, 7)]
    assert sorted(rows(context, "SELECT n, s FROM evens"))[:2] == [(0, "s0"), (2, "s2")]
    assert state_of(context, "halves") == ("RUNNING", None)


def test_one_target_written_twice(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    make(context, "t")
    put_numbers(folder, "a", [1, 2])
    context.sql(
        f"CREATE CONTINUOUS INSERT c {NOW} AS FROM numbers INSERT INTO t SELECT n, s INSERT INTO t (n) SELECT n * 10"
    )
    assert sorted(rows(context, "SELECT * FROM t")) == [(1, "s1"), (2, "s2"), (10, None), (20, None)]
    assert rows(context, "SHOW CONTINUOUS TABLES")[0][6] == 4


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t SELECT * FROM numbers WHERE n > 1",
        "WITH big AS (SELECT * FROM numbers WHERE n > 1) INSERT INTO t SELECT n, s FROM big",
        "WITH big AS (SELECT * FROM numbers WHERE n > 1) FROM big INSERT INTO t SELECT *",
        "FROM (SELECT x.* FROM numbers x JOIN known y ON x.n = y.n) j INSERT INTO t SELECT j.* WHERE n > 1",
    ],
)
def test_one_target(context: sharkpy.SharkContext, folder: Path, text: str) -> None:
    make_stream(context, folder)
    make(context, "t")
    context.sql("CREATE TABLE known STORED AS PARQUET AS SELECT explode(array(1L, 2L, 3L)) AS n")
    put_numbers(folder, "a", [1, 2])
    context.sql(f"CREATE CONTINUOUS INSERT c {NOW} AS {text}")
    put_numbers(folder, "b", [3])
    context.sql("RESUME CONTINUOUS INSERT c")
    assert sorted(rows(context, "SELECT * FROM t")) == [(2, "s2"), (3, "s3")]


@pytest.mark.variants(2)
@pytest.mark.parametrize("form", ["plain", "cached"])
def test_people_write_the_targets_too(context: sharkpy.SharkContext, folder: Path, tmp_path: Path, form: str) -> None:
    make_stream(context, folder)
    make(context, "t", form)
    make(context, "other")
    context.sql("INSERT INTO t VALUES (100, 'a'), (101, 'b')")
    put_numbers(folder, "a", [1])
    context.sql(f"CREATE CONTINUOUS INSERT c {NOW} AS FROM numbers INSERT INTO t SELECT * INSERT INTO other SELECT *")
    expected = {1, 100, 101}
    context.sql("CREATE TABLE file STORED AS PARQUET AS SELECT 103L AS n, 'd' AS s")
    (file,) = Path(context.catalog.table("default", "file").location or "").rglob("*.parquet")
    writes = (
        ("INSERT INTO t VALUES (102, 'c')", lambda found: found | {102}),
        (f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE t", lambda found: found | {103}),
        ("UPDATE t SET n = 200 WHERE n = 100", lambda found: found - {100} | {200}),
        ("DELETE FROM t WHERE n = 101", lambda found: found - {101}),
        ("INSERT OVERWRITE TABLE t SELECT * FROM t WHERE n < 103", lambda found: {n for n in found if n < 103}),
        ("TRUNCATE TABLE t", lambda _: set()),
    )
    for number, (text, change) in enumerate(writes, start=2):
        before = newest(context, "t")
        context.sql(text).close()
        expected = change(expected)
        assert numbers(context, "t") == sorted(expected), text
        after = newest(context, "t")
        assert after[0] == after[1] > before[1], text
        put_numbers(folder, f"b{number}", [number])
        context.sql("RESUME CONTINUOUS INSERT c")
        expected |= {number}
        assert numbers(context, "t") == sorted(expected), text
    assert numbers(context, "other") == list(range(1, len(writes) + 2))


def test_what_a_killed_write_has_left_is_not_read(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    make(context, "t")
    make(context, "parted", "parts")
    put_numbers(folder, "a", [1])
    context.sql(
        "CREATE CONTINUOUS INSERT c " + NOW + " AS FROM numbers INSERT INTO t SELECT * INSERT INTO parted SELECT *"
    )
    location = Path(context.catalog.table("default", "t").location or "")
    (file,) = location.rglob("*.parquet")
    left = location / "delta_0000002" / file.name
    left.parent.mkdir()
    left.write_bytes(file.read_bytes())
    assert numbers(context, "t") == [1]
    context.sql("INSERT INTO t VALUES (2, 'b')")
    assert numbers(context, "t") == [1, 2]


def test_a_target_goes_away(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    for name in ("kept", "gone"):
        make(context, name)
    put_numbers(folder, "a", [1])
    text = "FROM numbers INSERT INTO kept SELECT * INSERT INTO gone SELECT *"
    context.sql(f"CREATE CONTINUOUS INSERT c AS {text}")
    until_numbers(context, [1], "gone")
    context.sql("ALTER TABLE gone RENAME TO elsewhere")
    put_numbers(folder, "b", [2])
    until(lambda: state_of(context, "c")[0] == "STOPPED")
    assert "Table not found gone" in str(state_of(context, "c")[1])
    context.sql("ALTER TABLE elsewhere RENAME TO gone")
    context.sql("RESUME CONTINUOUS INSERT c")
    until_numbers(context, [1, 2], "gone")
    context.sql("DROP TABLE gone")
    make(context, "gone")
    put_numbers(folder, "c", [3])
    until(lambda: state_of(context, "c")[0] == "STOPPED")
    assert "writes other tables than when it was made" in str(state_of(context, "c")[1])
    assert numbers(context, "kept") == [1, 2]
    context.sql(f"ALTER CONTINUOUS INSERT c AS {text}")
    context.sql("RESUME CONTINUOUS INSERT c")
    until_numbers(context, [3], "gone")
    assert numbers(context, "kept") == [1, 2, 3]


def test_a_target_gets_another_form(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    make(context, "t")
    put_numbers(folder, "a", [1])
    context.sql(f"CREATE CONTINUOUS INSERT c {NOW} AS INSERT INTO t SELECT * FROM numbers")
    context.sql("ALTER TABLE t ADD COLUMNS (more INT)")
    put_numbers(folder, "b", [2])
    with pytest.raises(SharkError, match="takes 3 columns here, the query has 2"):
        context.sql("RESUME CONTINUOUS INSERT c")
    assert state_of(context, "c")[0] == "STOPPED"
    context.sql("ALTER CONTINUOUS INSERT c AS INSERT INTO t (n, s) SELECT n, s FROM numbers")
    context.sql("RESUME CONTINUOUS INSERT c")
    assert sorted(rows(context, "SELECT n FROM t")) == [(1,), (2,)]


def test_a_target_moves(context: sharkpy.SharkContext, folder: Path, tmp_path: Path) -> None:
    """Each folder has its own numbers of generations."""
    make_stream(context, folder)
    make(context, "t")
    place = str(tmp_path / "there")
    context.sql(f"CREATE EXTERNAL TABLE there (n BIGINT, s STRING) STORED AS PARQUET LOCATION '{place}'")
    context.sql("INSERT INTO there VALUES (7, 'seven')")
    context.sql("INSERT INTO there VALUES (8, 'eight')")
    (tmp_path / "w" / "moved").mkdir()
    for generation in Path(place).iterdir():
        generation.rename(tmp_path / "w" / "moved" / generation.name)
    context.sql(f"CREATE CONTINUOUS INSERT c {NOW} AS INSERT INTO t SELECT * FROM numbers")
    context.sql(f"ALTER TABLE t SET LOCATION '{tmp_path}/w/moved'")
    assert numbers(context, "t") == [7, 8]


def test_it_is_steered_by_its_name(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    for name in ("a", "b"):
        make(context, name)
    put_numbers(folder, "1", [1])
    context.sql("CREATE CONTINUOUS INSERT c AS FROM numbers INSERT INTO a SELECT * INSERT INTO b SELECT *")
    until_numbers(context, [1], "b")
    context.sql("PAUSE CONTINUOUS INSERT c")
    put_numbers(folder, "2", [2])
    assert state_of(context, "c")[0] == "PAUSED"
    context.sql("ALTER TABLE c RENAME TO d")
    context.sql("ALTER CONTINUOUS INSERT d TRIGGER AVAILABLE NOW AS INSERT INTO a SELECT n, 'later' FROM numbers")
    context.sql("RESUME CONTINUOUS INSERT d")
    assert (numbers(context, "a"), numbers(context, "b")) == ([1, 2], [1])
    assert [(row[0], row[3], json.loads(str(row[5]))) for row in rows(context, "SHOW EPOCHS d LIMIT 1")] == [
        (2, 1, {"default.numbers": [1, 2]})
    ]
    context.sql("DROP CONTINUOUS INSERT d")
    assert rows(context, "SHOW CONTINUOUS TABLES") == []
    context.sql("INSERT INTO b VALUES (3, 'x')")
    assert (numbers(context, "a"), numbers(context, "b")) == ([1, 2], [1, 3])
    context.sql("DROP STREAM numbers")


def test_it_goes_on_after_a_restart(tmp_path: Path, folder: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, folder)
        for name in ("a", "b"):
            make(context, name)
        put_numbers(folder, "1", [1])
        context.sql("CREATE CONTINUOUS INSERT c AS FROM numbers INSERT INTO a SELECT * INSERT INTO b SELECT *")
        until_numbers(context, [1], "b")
    put_numbers(folder, "2", [2])
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql("INSERT INTO b VALUES (3, 'x')")
        context.start_streams()
        until_numbers(context, [1, 2], "a")
        assert numbers(context, "b") == [1, 2, 3]


def test_two_of_them_share_a_target(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    make(context, "t")
    for name, change in (("c", "n"), ("d", "-n")):
        context.sql(f"CREATE CONTINUOUS INSERT {name} AS INSERT INTO t SELECT {change}, s FROM numbers")
    for number in range(1, 11):
        put_numbers(folder, str(number), [number])
    until_numbers(context, [*range(-10, 0), *range(1, 11)])
    assert newest(context, "t")[0] == newest(context, "t")[1]


def test_explain(context: sharkpy.SharkContext, folder: Path) -> None:
    make_stream(context, folder)
    make(context, "t")
    put_numbers(folder, "a", [1])
    for text, plans in (
        ("FROM numbers INSERT INTO t SELECT * INSERT INTO t (n) SELECT n", 2),
        ("INSERT INTO t SELECT * FROM numbers", 1),
    ):
        found = "\n".join(str(row[0]) for row in rows(context, f"EXPLAIN CREATE CONTINUOUS INSERT c AS {text}"))
        assert found.startswith("== CreateContinuousInsert c ==")
        assert found.count("FileScan default.numbers") == plans
        assert "Table(" not in found


@pytest.mark.variants(3)
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("FROM numbers INSERT OVERWRITE TABLE t SELECT *", "INSERT OVERWRITE in a continuous insert"),
        ("FROM numbers INSERT OVERWRITE DIRECTORY '/x' SELECT *", "INSERT OVERWRITE DIRECTORY in a continuous insert"),
        (
            "FROM numbers INSERT INTO t SELECT n, s INSERT INTO t SELECT max(n), 'x'",
            "whose rows change with each epoch",
        ),
        ("INSERT INTO t VALUES (1, 'x')", "reads no stream"),
        ("FROM t INSERT INTO t SELECT *", "reads no stream"),
        ("INSERT INTO alone SELECT n FROM numbers", "MEMORY_ONLY, as target"),
        ("INSERT INTO outside SELECT n FROM numbers", "not managed, as target"),
        ("INSERT INTO kept SELECT n FROM numbers", "come from its query"),
        ("INSERT INTO numbers SELECT n, s FROM numbers", "is a stream: INSERT needs a table"),
        ("INSERT INTO t SELECT n, s FROM temporary_names JOIN numbers USING (n)", "the temporary table"),
    ],
)
def test_refused(context: sharkpy.SharkContext, folder: Path, tmp_path: Path, text: str, error: str) -> None:
    make_stream(context, folder)
    make(context, "t")
    context.sql("CREATE TABLE alone TBLPROPERTIES ('shark.cache' = 'MEMORY_ONLY') AS SELECT 1L AS n")
    context.sql(f"CREATE EXTERNAL TABLE outside (n BIGINT) LOCATION '{tmp_path}/outside'")
    context.sql("CREATE TEMPORARY TABLE temporary_names AS SELECT 1L AS n")
    context.sql(f"CREATE CONTINUOUS TABLE kept {NOW} AS SELECT n FROM numbers")
    with pytest.raises(SharkError, match=error):
        context.sql(f"CREATE CONTINUOUS INSERT c AS {text}")
    assert [row[1] for row in rows(context, "SHOW CONTINUOUS TABLES")] == ["kept"]
    assert newest(context, "t")[0] is None
