"""`sharkpy warmup`: a training run that lets later sessions and first epochs of streams start faster.

The JVM saves the classes that it has loaded; numba's compiled kernels are saved next to the package.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base.errors import ExecutionError, SharkError
from sharkpy.base.java import find_java
from sharkpy.columnar import machine_loading
from sharkpy.execution.spark.jvm_process import EXTRA_OPTIONS, ClassCache, cache_dir, class_cache, pyspark_home

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

_TRAINING = (
    """CREATE TABLE training AS
    SELECT CAST(n AS TINYINT) AS tiny, CAST(n AS SMALLINT) AS small, CAST(n AS INT) AS whole,
           CAST(n * n AS BIGINT) AS big, CAST(n AS FLOAT) AS single, n / 7 AS fraction,
           CAST(n AS DECIMAL(12,2)) AS price, n % 2 = 0 AS is_even, concat('name ', n % 9) AS name,
           date_add('2020-01-01', n) AS day, CAST(date_add('2020-01-01', n) AS TIMESTAMP) AS moment,
           IF(n % 3 = 0, NULL, n) AS gaps
    FROM (SELECT posexplode(split(space(99), ' ')) AS (n, part)) numbers""",
    "INSERT INTO training SELECT * FROM training",
    "CACHE TABLE training",
    "SELECT name, count(*), sum(big), avg(fraction), max(day) FROM training WHERE whole > 3 GROUP BY name ORDER BY 1",
    "SELECT a.name, sum(b.price) FROM training a JOIN training b ON a.whole = b.small GROUP BY a.name LIMIT 5",
    "SELECT * FROM training ORDER BY moment DESC, whole",
    "SELECT is_even, count(DISTINCT gaps) FROM training GROUP BY is_even",
    """CREATE TABLE training_text ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' STORED AS TEXTFILE
    AS SELECT a.* FROM training a JOIN training b ON a.is_even = b.is_even""",
    "SET shark.placement.driver=true",
    """SELECT max(tiny), max(whole), max(big), max(single), max(fraction), max(price), max(name), max(day), max(moment),
           count_if(is_even), count(gaps) FROM training_text""",
    # The kernels that a first epoch needs. Integers of different ranges are stored in different types.
    """INSERT OVERWRITE DIRECTORY '{folder}/rows' STORED AS JSONFILE
    SELECT n * 7919 % 100 AS bytes, n * 7919 % 30011 AS shorts, n * 7919 % 1000003 AS wholes,
           n * 7919 % 1000003 * 10000000007 AS longs, n % 5 = 0 AS flag, CAST(n AS INT) AS number, n / 7 AS fraction,
           concat('name ', n % 9) AS name, concat('text ', n) AS text,
           CAST(1577836800000 + n * 2000 AS TIMESTAMP) AS moment, CAST(1577836800.0005 + n / 8 AS TIMESTAMP) AS instant
    FROM (SELECT posexplode(split(space(1999), ' ')) AS (n, part)) numbers""",
    """CREATE STREAM training_rows (bytes BIGINT, shorts BIGINT, wholes BIGINT, longs BIGINT, flag BOOLEAN, number INT,
    fraction DOUBLE, name STRING, text STRING, moment TIMESTAMP, instant TIMESTAMP)
    STORED AS JSONFILE FROM FOLDER '{folder}/rows'""",
    """CREATE CONTINUOUS TABLE training_copy TBLPROPERTIES ('shark.cache' = 'MEMORY') TRIGGER AVAILABLE NOW
    AS SELECT * FROM training_rows""",
    """CREATE CONTINUOUS TABLE training_groups TBLPROPERTIES ('shark.cache' = 'MEMORY') TRIGGER AVAILABLE NOW
    WITH UNBOUNDED STATE AS SELECT shorts, window(moment, '10 seconds') AS window, count(*) AS n, sum(longs) AS total
    FROM training_rows GROUP BY shorts, window(moment, '10 seconds')""",
    """SELECT max(bytes), max(shorts), max(wholes), max(longs), count_if(flag), max(number), max(fraction), max(name),
           max(text), max(moment), max(instant), count(DISTINCT wholes) FROM training_copy""",
    "SELECT * FROM training_copy",
    "SELECT count(*), sum(n), max(total), max(window.start) FROM training_groups",
)
_AS_TASKS = {"shark.placement.driver": "false", "shark.join.broadcast.max.bytes": "1"}
"""Settings under which stages run as RDD tasks with shuffles, although the table is small."""


def run_warmup(settings: Mapping[str, str]) -> int:
    """Train the caches of the Java that sessions use. Return 0, or raise an error."""
    java = find_java(settings.get("shark.java.home") or None)
    cache = class_cache(java, pyspark_home())
    cache.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    sys.stdout.write(f"Java {java.version} from {java.origin}: training, this takes half a minute or so\n")
    sys.stdout.flush()
    started = time.monotonic()
    size = train(cache, settings)
    seconds = time.monotonic() - started
    sys.stdout.write(f"class cache of {size / 1e6:.0f} MB in {cache.path}, after {seconds:.0f} s\n")
    _drop_others(cache)
    return 0


def train(cache: ClassCache, settings: Mapping[str, str]) -> int:
    """Run statements on a JVM that writes the cache when it ends. Return the cache's size in bytes."""
    from sharkpy.session.connect import connect

    with tempfile.TemporaryDirectory(dir=cache.path.parent, prefix="training-") as folder:
        written = Path(folder) / cache.path.name
        options = f"{settings.get(EXTRA_OPTIONS, '')} {cache.train(written)}"
        conf = {**settings, **_AS_TASKS, EXTRA_OPTIONS: options}
        # If they are imported, the compiled loops read even short text.
        importlib.import_module("sharkpy.sources.cut_fields")
        machine_loading.load()
        with connect("local[2]", Path(folder) / "warehouse", **conf) as session:
            run_statements(session, folder)
            if not session.engine.is_spark_started:
                raise ExecutionError("the training run did not reach Spark")
        if not written.is_file():
            raise ExecutionError(f"Java wrote no class cache to {written.parent}", hint="is there room for 300 MB?")
        return cache.publish(written)


def run_statements(session: SharkContext, folder: str) -> None:
    """Run the statements of the training. `folder` gets files."""
    for statement in _TRAINING:
        session.sql(statement.format(folder=folder)).fetchall()


def _drop_others(kept: ClassCache) -> None:
    """Delete caches of an earlier Java or pyspark."""
    for path in [*cache_dir().glob("java*.jsa"), *cache_dir().glob("java*.aot")]:
        if path != kept.path:
            ClassCache(path, path.suffix == ".aot").drop()


def cache_state(java_home: str | None = None) -> str:
    """State of the cache, as `sharkpy doctor` prints it."""
    try:
        cache = class_cache(find_java(java_home), pyspark_home())
    except SharkError as error:
        return error.message
    fault = cache.fault()
    if fault is None:
        return f"{cache.path}: {cache.path.stat().st_size / 1e6:.0f} MB"
    return "none: sharkpy warmup makes Spark start faster" if not fault else f"{cache.path} is ignored: {fault}"
