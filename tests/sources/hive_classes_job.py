"""Program that has Spark write and read tables by Hive's own classes in a folder.

`tables.json` in the folder lists, for each table, its name, clauses and settings. Each is written to `theirs/<name>`
from the rows of ROWS; files found in `ours/<name>` are read, and their rows go to `read/<name>.json`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

COLUMNS = (
    "i int, b bigint, t tinyint, s smallint, f float, d double, bo boolean, st string, vc varchar(5), bi binary,"
    " de decimal(12,3), da date, ts timestamp, a array<int>, m map<string,double>, n struct<x:int,y:array<string>>"
)
ROWS = """
SELECT 1 AS i, 10000000000 AS b, cast(-5 AS tinyint) AS t, cast(-300 AS smallint) AS s, cast(1.5 AS float) AS f,
  -2.25D AS d, true AS bo, 'h\u00e9llo' AS st, cast('abc' AS varchar(5)) AS vc, cast('xyz' AS binary) AS bi,
  cast(12.345 AS decimal(12,3)) AS de, date'2024-02-29' AS da, timestamp'2024-02-29 12:34:56.789' AS ts,
  array(1, NULL, -70000) AS a, map('k', 1.5D) AS m, named_struct('x', 7, 'y', array('p', 'q')) AS n
UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
UNION ALL SELECT -1, -1, cast(0 AS tinyint), cast(0 AS smallint), cast(0 AS float), 0D, false, '',
  cast('v' AS varchar(5)), cast('q' AS binary), cast(-0.5 AS decimal(12,3)), date'1969-12-31',
  timestamp'1969-12-31 23:59:59', array(), map(), named_struct('x', cast(NULL AS int), 'y', cast(NULL AS array<string>))
"""


def main(folder: Path) -> None:
    from pyspark.sql import SparkSession

    store = folder / "metastore"
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", str(folder / "theirs"))
        .config("javax.jdo.option.ConnectionURL", f"jdbc:derby:;databaseName={store};create=true")
        .config("spark.driver.extraJavaOptions", f"-Duser.timezone=UTC -Dderby.system.home={folder}")
        .config("spark.sql.session.timeZone", "UTC")
        .enableHiveSupport()
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    spark.sql(ROWS).coalesce(1).createOrReplaceTempView("source_rows")
    for name, clauses, settings in json.loads((folder / "tables.json").read_text()):
        for key, value in settings.items():
            spark.sql(f"SET {key}={value}")
        spark.sql(f"CREATE TABLE {name} ({COLUMNS}) {clauses}")
        spark.sql(f"INSERT INTO {name} SELECT * FROM source_rows")
        ours = folder / "ours" / name
        if ours.is_dir():
            spark.sql(f"CREATE EXTERNAL TABLE {name}_ours ({COLUMNS}) {clauses} LOCATION '{ours}'")
            rows = spark.sql(f"SELECT to_json(struct(*)) FROM {name}_ours").collect()
            (folder / "read").mkdir(exist_ok=True)
            (folder / "read" / f"{name}.json").write_text(json.dumps(sorted(row[0] for row in rows)))
        for key in settings:
            spark.sql(f"RESET {key}")
    rows = spark.sql("SELECT to_json(struct(*)) FROM source_rows").collect()
    (folder / "read" / "expected.json").write_text(json.dumps(sorted(row[0] for row in rows)))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
