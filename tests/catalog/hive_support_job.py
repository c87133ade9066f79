"""Program that runs the statements of a folder's `statements.json` on Spark with Hive's support. Rows of statements
that return some go to `answers.json`, as texts of JSON, sorted. `settings.json`, if it exists, has more settings.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(folder: Path) -> None:
    from pyspark.sql import SparkSession

    builder = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.hadoop.hive.exec.dynamic.partition.mode", "nonstrict")
        .config("spark.hadoop.hive.metastore.warehouse.dir", str(folder / "warehouse"))
        .config("javax.jdo.option.ConnectionURL", f"jdbc:derby:;databaseName={folder / 'metastore'};create=true")
        .config("spark.driver.extraJavaOptions", f"-Duser.timezone=UTC -Dderby.system.home={folder}")
        .config("spark.sql.session.timeZone", "UTC")
        .enableHiveSupport()
    )
    more = folder / "settings.json"
    for key, value in json.loads(more.read_text()).items() if more.exists() else ():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    answers = []
    for text in json.loads((folder / "statements.json").read_text()):
        rows = spark.sql(text)
        answers.append(sorted(json.dumps(list(row), default=str) for row in rows.collect()) if rows.columns else [])
    (folder / "answers.json").write_text(json.dumps(answers))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
