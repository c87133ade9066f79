"""Tables of a Hive metastore whose files are in a bucket: Spark makes them, both write them, both read the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

from tests.catalog import hive_support_job
from tests.jars import jars_of
from tests.statement_jobs import answers_of
from tests.storage import metastore_bucket_job
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET, S3Server, s3_client

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

S3A = ("org.apache.hadoop", "hadoop-aws", "3.5.0")
THEIRS = (
    "CREATE EXTERNAL TABLE facts (a int, s string) STORED AS PARQUET LOCATION '{place}/facts'",
    "INSERT INTO facts VALUES (1, 'x'), (2, NULL)",
    "CREATE DATABASE far LOCATION '{place}/far.db'",
    "CREATE TABLE far.parts (a int) PARTITIONED BY (p string) STORED AS TEXTFILE",
    "INSERT INTO far.parts PARTITION (p) VALUES (1, 'a b'), (2, 'b')",
    "CREATE TABLE far.gone (a int) STORED AS ORC",
    "INSERT INTO far.gone VALUES (1)",
)
OURS = (
    "INSERT INTO facts VALUES (3, 'y')",
    "INSERT INTO far.parts PARTITION (p) SELECT 3, 'c' UNION ALL SELECT 4, 'b'",
    "INSERT OVERWRITE TABLE far.parts PARTITION (p = 'a b') VALUES (10), (11)",
    "INSERT OVERWRITE TABLE facts SELECT a + 10, s FROM facts",
    "CREATE TABLE far.made STORED AS PARQUET AS SELECT a, s FROM facts",
    "CREATE TABLE far.mine (k int, t timestamp) PARTITIONED BY (d date) STORED AS ORC",
    "INSERT INTO far.mine PARTITION (d) SELECT 1, timestamp'2024-01-02 03:04:05', date'2024-01-01'",
    "CREATE TABLE far.emptied AS SELECT 1 AS a",
    "TRUNCATE TABLE far.emptied",
    "ALTER TABLE far.parts DROP PARTITION (p = 'c')",
    "DELETE FROM far.made WHERE a = 12",
    "DROP TABLE far.gone",
)
QUERIES = (
    "SELECT * FROM facts",
    "SELECT * FROM far.parts",
    "SHOW PARTITIONS far.parts",
    "SELECT * FROM far.made",
    "SELECT * FROM far.mine",
    "SELECT * FROM far.emptied",
    "SHOW TABLES IN far",
)


def settings(address: str) -> dict[str, str]:
    """Settings of Spark under which its JVM, and the engine, reach the bucket."""
    s3a = {
        "endpoint": f"http://{address}",
        "endpoint.region": "us-east-1",
        "access.key": ACCESS_KEY,
        "secret.key": SECRET,
        "path.style.access": "true",
    }
    found = {f"spark.hadoop.fs.s3a.{name}": value for name, value in s3a.items()}
    return {**found, "spark.driver.extraClassPath": ":".join(jars_of(*S3A))}


@pytest.fixture
def run(tmp_path: Path, seaweed: S3Server) -> Callable[..., list[list[str]]]:
    """Runs statements by a program, in a process of its own; rows of each."""

    def answers(program: ModuleType, *statements: str) -> list[list[str]]:
        (tmp_path / "settings.json").write_text(json.dumps(settings(seaweed.address)))
        return answers_of(program, tmp_path, statements)

    return answers


@pytest.fixture
def objects(seaweed: S3Server) -> Iterator[Callable[[str], list[str]]]:
    client: Any = s3_client(seaweed.address)

    def names(place: str) -> list[str]:
        prefix = f"{place.partition(f'{BUCKET}/')[2]}/"
        listed = client.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
        return [one["Key"].removeprefix(prefix) for one in listed if one["Size"]]

    yield names
    client.close()


def test_both_read_what_both_write(
    run: Callable[..., list[list[str]]], objects: Callable[[str], list[str]], folder: str
) -> None:
    spark, ours = partial(run, hive_support_job), partial(run, metastore_bucket_job)
    place = folder.replace("s3:", "s3a:")
    spark(*(text.replace("{place}", place) for text in THEIRS))
    first, *found = ours(QUERIES[0], *OURS, *QUERIES)
    assert first == ['[1, "x"]', "[2, null]"]
    expected = found[len(OURS) :]
    assert expected[0] == ['[11, "x"]', "[12, null]", '[13, "y"]']
    assert expected[1] == ['[10, "a b"]', '[11, "a b"]', '[2, "b"]', '[4, "b"]']
    assert expected[3] == ['[11, "x"]', '[13, "y"]']
    assert expected[5] == []
    # Nothing is left of what was staged and replaced.
    assert len(objects(f"{folder}/facts")) == 1
    assert all("/" not in name for name in objects(f"{folder}/facts"))
    assert objects(f"{folder}/far.db/gone") == []
    answers = spark(*QUERIES, "INSERT INTO far.made VALUES (50, 'again')")
    assert answers[: len(QUERIES) - 1] == expected[:-1]
    assert '[50, "again"]' in ours("SELECT * FROM far.made")[0]
