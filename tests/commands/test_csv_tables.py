"""Tables of USING csv: what CREATE TABLE takes from files, what it shows again, and rows that become files."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import SharkError, SourceError
from tests.rows import rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.csv").write_text('id,note\n1,"a, b"\n2,\n')
    (tmp_path / "in" / "two.csv").write_text("id,note\n3000000000,c\n")
    return tmp_path / "in"


def test_columns_are_told_by_files_when_the_table_is_made(context: sharkpy.SharkContext, folder: Path) -> None:
    context.sql(f"CREATE OR REPLACE TABLE t USING csv OPTIONS (path '{folder}', header 'true', inferSchema 'true')")
    assert rows(context, "SELECT typeof(id), id, note FROM t ORDER BY id") == [
        ("bigint", 1, "a, b"),
        ("bigint", 2, None),
        ("bigint", 3_000_000_000, "c"),
    ]
    (folder / "three.csv").write_text("id,note,more\nx,y,z\n")
    assert rows(context, "SELECT * FROM t WHERE note = 'y'") == [(None, "y")]
    context.sql(f"CREATE TABLE IF NOT EXISTS t USING csv LOCATION '{folder}/none'")


def test_a_folder_without_rows_tells_no_columns(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    for content in (None, "", "\n \n"):
        if content is not None:
            (tmp_path / "empty.csv").write_text(content)
        with pytest.raises(SourceError, match="its files have no row"):
            context.sql(f"CREATE TABLE none USING csv LOCATION '{tmp_path}'")
    assert rows(context, "SHOW TABLES LIKE 'none'") == []


def test_a_table_is_made_again_by_what_is_shown(context: sharkpy.SharkContext, folder: Path) -> None:
    options = "SEP ',', quote '\\'', 'multiline' 'TRUE', header 'true', mode 'failfast'"
    context.sql(f"CREATE TABLE shown (id INT, note STRING) USING csv OPTIONS ({options}) LOCATION '{folder}'")
    text = "\n".join(str(line) for (line,) in rows(context, "SHOW CREATE TABLE shown"))
    assert "USING csv\nOPTIONS (\n  'header'='true',\n  'mode'='failfast',\n  'multiLine'='TRUE',\n" in text
    context.sql(f"DROP TABLE shown; {text}")
    assert rows(context, "SHOW CREATE TABLE shown") == [(line,) for line in text.split("\n")]
    assert "Provider: csv\n" in str(rows(context, "SHOW TABLE EXTENDED LIKE 'shown'")[0][3])


def test_rows_become_files_of_csv(context: sharkpy.SharkContext, tmp_path: Path) -> None:
    target = tmp_path / "out"
    query = "SELECT 1 AS id, 'a \"b\", c' AS note UNION ALL SELECT 2, NULL"
    context.sql(f"INSERT OVERWRITE DIRECTORY '{target}' USING csv OPTIONS (header 'true', escape '\"') {query}")
    (file,) = [path for path in target.iterdir() if not path.name.startswith((".", "_"))]
    assert file.suffix == ".csv"
    assert sorted(file.read_text().splitlines()) == ['1,"a ""b"", c"', "2,", "id,note"]
    with pytest.raises(SharkError, match='no option "bogus"'):
        context.sql(f"INSERT OVERWRITE DIRECTORY '{target}' USING csv OPTIONS (bogus 1) {query}")
    assert file.exists()


def test_a_codec_of_the_table_wins_over_that_of_the_session(context: sharkpy.SharkContext) -> None:
    session = context.new_session(**{"hive.exec.compress.output": "true"})
    session.sql("CREATE TABLE packed (a INT) USING csv OPTIONS (compression 'bzip2')")
    session.sql("CREATE TABLE plain (a INT) USING csv OPTIONS (compression 'none')")
    session.sql("CREATE TABLE of_session (a INT) USING csv")
    for table, suffix in (("packed", ".csv.bz2"), ("plain", ".csv"), ("of_session", ".csv.deflate")):
        session.sql(f"INSERT INTO {table} VALUES (1), (2)")
        assert rows(session, f"SELECT a FROM {table} ORDER BY a") == [(1,), (2,)]
        ((name,),) = rows(session, f"SELECT DISTINCT INPUT__FILE__NAME FROM {table}")
        assert str(name).endswith(suffix)
        assert not str(name).endswith(f"{suffix}{suffix}")


def test_changes_of_rows(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE changed (a INT, b STRING) USING csv OPTIONS (header 'true')")
    context.sql("INSERT INTO changed VALUES (1, 'x'), (2, 'y, z')")
    context.sql("UPDATE changed SET b = 'w' WHERE a = 1; DELETE FROM changed WHERE a = 3")
    context.sql("ALTER TABLE changed ADD COLUMNS (c INT); CACHE TABLE changed")
    assert rows(context, "SELECT * FROM changed ORDER BY a") == [(1, "w", None), (2, "y, z", None)]


@pytest.mark.parametrize(
    "clause", ["USING csv LOCATION '{}'", "USING csv OPTIONS (path '{}')", "ROW FORMAT DELIMITED LOCATION '{}'"]
)
def test_a_location_may_be_one_file(context: sharkpy.SharkContext, tmp_path: Path, clause: str) -> None:
    (tmp_path / "x.csv").write_text("1\n2\n")
    (tmp_path / "other.csv").write_text("3\n")
    context.sql("DROP TABLE IF EXISTS one_file")
    context.sql(f"CREATE TABLE one_file (n INT) {clause.format(tmp_path / 'x.csv')}")
    assert rows(context, "SELECT sum(n), count(*) FROM one_file") == [(3, 2)]
    with pytest.raises(SharkError, match="is the file"):
        context.sql("INSERT INTO one_file VALUES (4)")
    context.sql("DROP TABLE one_file")
    assert (tmp_path / "x.csv").read_text() == "1\n2\n"


def test_the_place_of_a_row_is_not_known(context: sharkpy.SharkContext) -> None:
    context.sql("CREATE TABLE placed (a INT) USING csv; INSERT INTO placed VALUES (1)")
    with pytest.raises(SharkError, match="BLOCK__OFFSET__INSIDE__FILE"):
        rows(context, "SELECT BLOCK__OFFSET__INSIDE__FILE FROM placed")
