"""A warehouse made by Spark's Hive support is read and written here, and then read by Spark again."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sharkpy.base.errors import BindError, ConfigurationError, UnsupportedError
from sharkpy.execution.engine import Engine
from sharkpy.session.connect import connect
from sharkpy.session.shark_context import SharkContext
from tests.catalog import hive_support_job
from tests.catalog.metastore_server import metastore_server
from tests.statement_jobs import answers_of

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

THEIRS = (
    "CREATE TABLE texts (a int COMMENT 'first', s string) COMMENT 'own' ROW FORMAT DELIMITED FIELDS TERMINATED BY '|'",
    "INSERT INTO texts VALUES (1, 'x'), (2, NULL)",
    "CREATE DATABASE other COMMENT 'more'",
    "CREATE TABLE other.parts (a bigint, d decimal(8,2)) PARTITIONED BY (ds string, n int) STORED AS PARQUET",
    "INSERT INTO other.parts PARTITION (ds, n) VALUES (1, 1.5, 'x y/z', 1), (2, 2.5, 'b', 2), (3, NULL, 'b', 3)",
    "CREATE TABLE orcs USING orc AS SELECT 1 AS a, array(1, 2) AS l, named_struct('p', 1) AS s",
    "CREATE TABLE jsons USING json AS SELECT 1 AS a",
    "CREATE EXTERNAL TABLE seq (a string) STORED AS SEQUENCEFILE LOCATION '{folder}/seq'",
    "INSERT INTO seq VALUES ('q')",
    "CREATE TABLE rc (a int, m map<string,int>) STORED AS RCFILE",
    "INSERT INTO rc VALUES (1, map('k', 5))",
    "CREATE TABLE av (a int, s string) STORED AS AVRO",
    "INSERT INTO av VALUES (1, 'av')",
    "CREATE TABLE mixed (a int) PARTITIONED BY (p int) STORED AS TEXTFILE",
    "INSERT INTO mixed PARTITION (p = 1) VALUES (10)",
    "ALTER TABLE mixed ADD COLUMNS (b string)",
    "INSERT INTO mixed PARTITION (p = 2) VALUES (20, 'two')",
    "USE other",
    "CREATE VIEW v AS SELECT a, count(*) AS n FROM parts GROUP BY a",
    "CREATE VIEW default.elsewhere AS SELECT n FROM parts",
)
OURS = (
    "INSERT INTO texts VALUES (3, 'y')",
    "INSERT OVERWRITE TABLE texts SELECT a + 10, s FROM texts",
    "SET hive.exec.dynamic.partition.mode=nonstrict",
    "INSERT INTO other.parts PARTITION (ds, n) SELECT 9, 9.5, 'c', 7 UNION ALL SELECT 8, 8.5, 'b', 2",
    "INSERT OVERWRITE TABLE other.parts PARTITION (ds = 'b', n = 3) SELECT 33, 3.3",
    "ALTER TABLE other.parts ADD PARTITION (ds = 'f', n = 1) LOCATION '{folder}/elsewhere'",
    "INSERT INTO other.parts PARTITION (ds = 'f', n = 1) VALUES (77, 7.7)",
    "ALTER TABLE other.parts DROP PARTITION (ds = 'x y/z')",
    "ALTER TABLE mixed SET FILEFORMAT RCFILE",
    "INSERT INTO mixed PARTITION (p = 1) VALUES (11, NULL)",
    "INSERT INTO mixed PARTITION (p = 3) VALUES (30, 'three')",
    "CREATE TABLE mine (k int COMMENT 'key', v array<string>, t timestamp) PARTITIONED BY (p date) STORED AS ORC",
    "INSERT INTO mine PARTITION (p) SELECT 1, array('a', NULL), timestamp'2024-01-02 03:04:05', date'2024-01-01'",
    "ALTER TABLE mine PARTITION (p = '2024-01-01') RENAME TO PARTITION (p = '2024-02-02')",
    "ALTER TABLE mine RENAME TO mine2",
    "ALTER TABLE mine2 ADD COLUMNS (w int)",
    "CREATE TABLE made STORED AS PARQUET AS SELECT a, s FROM texts",
    "CREATE TABLE made_parts PARTITIONED BY (s) STORED AS TEXTFILE AS SELECT a, s FROM texts WHERE s IS NOT NULL",
    "MERGE INTO made USING (SELECT 12 AS b UNION ALL SELECT 99) n ON made.a = n.b"
    " WHEN MATCHED THEN UPDATE SET s = 'merged' WHEN NOT MATCHED THEN INSERT VALUES (n.b, 'new')",
    "CREATE TABLE emptied AS SELECT 1 AS a",
    "TRUNCATE TABLE emptied",
    "CREATE VIEW of_mine AS SELECT k, p FROM mine2",
    "CREATE DATABASE ours COMMENT 'c' WITH DBPROPERTIES ('a' = 'b')",
    "CREATE TABLE ours.t (a int) TBLPROPERTIES ('shark.cache' = 'MEMORY')",
    "INSERT INTO ours.t VALUES (1), (2), (3)",
    "DELETE FROM ours.t WHERE a = 2",
    "CREATE DATABASE gone",
    "CREATE TABLE gone.t (a int)",
    "DROP DATABASE gone CASCADE",
    "DROP TABLE seq",
)
QUERIES = (
    "SELECT * FROM texts",
    "SELECT * FROM other.parts",
    "SHOW PARTITIONS other.parts",
    "SELECT * FROM mixed",
    "SELECT * FROM mine2",
    "SELECT * FROM made",
    "SELECT * FROM made_parts",
    "SELECT * FROM emptied",
    "SELECT * FROM of_mine",
    "SELECT * FROM ours.t",
    "SELECT * FROM other.v",
    "SHOW DATABASES",
)


_MAIN = "import sys; from sharkpy.cli.main import main; sys.exit(main())"


@dataclass(frozen=True)
class Place:
    folder: Path

    def spark(self, *statements: str) -> list[list[str]]:
        """Rows of each statement on Spark, in a process of its own."""
        texts = [text.replace("{folder}", str(self.folder)) for text in statements]
        return answers_of(hive_support_job, self.folder, texts)

    def session(self, **settings: object) -> SharkContext:
        values = {"shark.metastore": "hive", "shark.metastore.derby": str(self.folder / "metastore")}
        return connect("local[2]", self.folder / "warehouse", **values, **settings)


def rows(session: SharkContext, query: str) -> list[str]:
    return sorted(json.dumps(list(row), default=str) for row in session.sql(query))


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Place:
    place = Place(tmp_path_factory.mktemp("hive"))
    place.spark(*THEIRS)
    return place


@pytest.mark.slow
@pytest.mark.parametrize("is_placed", [True, False], ids=["driver", "tasks"])
def test_theirs_is_read(theirs: Place, is_placed: bool) -> None:
    with theirs.session(**{"shark.placement.driver": is_placed}) as session:
        assert rows(session, "SHOW DATABASES") == ['["default"]', '["other"]']
        assert rows(session, "DESCRIBE texts") == ['["a", "int", "first"]', '["s", "string", ""]']
        assert rows(session, "SELECT * FROM texts") == ['[1, "x"]', "[2, null]"]
        assert rows(session, "SELECT * FROM orcs") == ['[1, [1, 2], {"p": 1}]']
        assert rows(session, "SELECT * FROM seq") == ['["q"]']
        assert rows(session, "SELECT * FROM rc") == ['[1, {"k": 5}]']
        assert rows(session, "SELECT * FROM av") == ['[1, "av"]']
        assert rows(session, "SELECT a, b, p FROM mixed") == ["[10, null, 1]", '[20, "two", 2]']
        parts = ['[1, "1.50", "x y/z", 1]', '[2, "2.50", "b", 2]', '[3, null, "b", 3]']
        assert rows(session, "SELECT * FROM other.parts") == parts
        assert rows(session, "SELECT a FROM other.parts WHERE ds = 'b' AND n > 2") == ["[3]"]
        assert rows(session, "SHOW PARTITIONS other.parts") == ['["ds=b/n=2"]', '["ds=b/n=3"]', '["ds=x y%2Fz/n=1"]']
        assert rows(session, "SELECT * FROM other.v") == ["[1, 1]", "[2, 1]", "[3, 1]"]
        assert rows(session, "SELECT * FROM elsewhere") == ["[1]", "[2]", "[3]"]
        with pytest.raises(UnsupportedError, match="json table of Spark"):
            session.sql("SELECT * FROM jsons")
        session.sql("CACHE TABLE other.parts")
        assert rows(session, "SELECT * FROM other.parts") == parts


@pytest.mark.slow
def test_ours_is_read_by_spark(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.spark(*THEIRS)
    with place.session() as session:
        for text in OURS:
            session.sql(text.replace("{folder}", str(place.folder)))
        expected = [rows(session, query) for query in QUERIES]
        assert expected[0] == ['[11, "x"]', "[12, null]", '[13, "y"]']
        assert expected[5] == ['[11, "x"]', '[12, "merged"]', '[13, "y"]', '[99, "new"]']
        assert expected[-3:] == [["[1]", "[3]"], ["[2, 1]", "[33, 1]", "[77, 1]", "[8, 1]", "[9, 1]"], expected[-1]]
    more = ("INSERT INTO texts VALUES (50, 'again')", "INSERT INTO mixed PARTITION (p = 3) VALUES (31, 'more')")
    answers = place.spark(*QUERIES, *more, "ALTER TABLE mine2 CHANGE COLUMN w w int COMMENT 'theirs'")
    assert answers[: len(QUERIES)] == expected
    with place.session() as session:
        assert '[50, "again"]' in rows(session, "SELECT * FROM texts")
        assert '[31, "more", 3]' in rows(session, "SELECT * FROM mixed")
        assert '["w", "int", "theirs"]' in rows(session, "DESCRIBE mine2")


@pytest.mark.slow
def test_an_empty_metastore_is_made_and_kept(spark_engine: Engine, tmp_path: Path) -> None:
    assert spark_engine.jvm is not None
    place = Place(tmp_path)
    with place.session() as session:
        session.sql("CREATE TABLE t (a int) PARTITIONED BY (p string)")
        session.sql("INSERT INTO t PARTITION (p = 'x') VALUES (1)")
        with pytest.raises(BindError):
            session.sql("DROP DATABASE default")
        with pytest.raises(UnsupportedError, match="buckets"):
            session.sql("CREATE TABLE b (a int) CLUSTERED BY (a) INTO 2 BUCKETS; INSERT INTO b VALUES (1)")
        other = session.new_session()
        assert rows(other, "SELECT * FROM t") == ['[1, "x"]']
    with place.session() as session:
        assert rows(session, "SELECT * FROM t") == ['[1, "x"]']
        (name,) = (path.name for path in Path(tmp_path, "warehouse", "t", "p=x").iterdir())
        assert name.startswith("part-") and name.endswith("-00000.txt")  # noqa: PT018  one name


def test_an_address_that_nobody_listens_at_is_one_error(spark_engine: Engine, tmp_path: Path) -> None:
    assert spark_engine.jvm is not None
    settings = {
        "shark.metastore": "hive",
        "shark.metastore.uris": "thrift://127.0.0.1:1",
        "shark.metastore.site": str(tmp_path / "hive-site.xml"),
    }
    with pytest.raises(ConfigurationError, match=r"hive-site\.xml"):
        connect("local[2]", tmp_path / "w", **settings)
    once = {"hive.metastore.connect.retries": "1", "hive.metastore.client.connect.retry.delay": "0s"}
    properties = "".join(
        f"<property><name>{key}</name><value>{value}</value></property>" for key, value in once.items()
    )
    Path(tmp_path, "hive-site.xml").write_text(f"<configuration>{properties}</configuration>")
    refused = pytest.raises(ConfigurationError, match="the Hive metastore cannot be used")
    with connect("local[2]", tmp_path / "w", **settings) as session, refused:
        session.sql("SHOW TABLES")


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Address of a metastore's server in a process of its own."""
    with metastore_server(tmp_path) as found:
        yield found


@pytest.mark.slow
def test_two_programs_share_a_metastore_of_an_address(address: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", _MAIN, "--warehouse", str(tmp_path / "warehouse"), "--metastore", address]
    statements = "CREATE TABLE t (a int) PARTITIONED BY (p int); INSERT INTO t PARTITION (p = 1) VALUES (1), (2)"
    subprocess.run([*command, "-e", statements], check=True, capture_output=True)
    settings = {"shark.metastore": "hive", "shark.metastore.uris": address}
    with connect("local[2]", tmp_path / "warehouse", **settings) as session:
        assert rows(session, "SELECT * FROM t") == ["[1, 1]", "[2, 1]"]
        subprocess.run([*command, "-e", "INSERT INTO t PARTITION (p = 2) VALUES (3)"], check=True, capture_output=True)
        assert rows(session, "SELECT sum(a), count(DISTINCT p) FROM t") == ["[6, 2]"]
        subprocess.run([*command, "-e", "DROP TABLE t"], check=True, capture_output=True)
        assert rows(session, "SHOW TABLES") == []
