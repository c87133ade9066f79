"""Spark with Hive's classes, in a process of its own: the suite's JVM has a catalog without Hive."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

from tests.waiting import allowed


class HiveSpark:
    """Session of Spark SQL. `sql` runs a statement and returns its rows."""

    def __init__(self, folder: Path) -> None:
        self._answer = folder / "answer.arrow"
        with open(folder / "spark.log", "wb") as log:
            command = [sys.executable, "-m", "tests.zoo.hive_spark", str(folder)]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            )

    def sql(self, text: str) -> pa.Table:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(text), file=self._process.stdin, flush=True)
        said = self._process.stdout.readline()
        assert said, "Spark has ended"
        error = json.loads(said)
        assert error is None, error
        with pa.memory_map(str(self._answer)) as file:
            return pa.ipc.open_file(file).read_all()

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(allowed(60))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


def main(folder: Path) -> None:
    from pyspark.sql import SparkSession

    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.ansi.enabled", "false")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("javax.jdo.option.ConnectionURL", f"jdbc:derby:;databaseName={folder / 'metastore'};create=true")
        .config("spark.driver.extraJavaOptions", f"-Duser.timezone=UTC -Dderby.system.home={folder}")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.log.level", "ERROR")
        .enableHiveSupport()
        .getOrCreate()
    )
    for line in sys.stdin:
        try:
            found = spark.sql(json.loads(line)).toArrow()
            with pa.ipc.new_file(str(folder / "answer.arrow"), found.schema) as writer:
                writer.write_table(found)
            print("null", flush=True)
        except Exception as error:
            print(json.dumps(str(error)[:4000]), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
