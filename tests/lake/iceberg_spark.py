"""Spark with Iceberg's own runtime: another engine, in a JVM of its own, over a catalog of Iceberg that it shares.

Its jars are fetched like the jars of other Java programs. Spark is not the engine's: Iceberg's runtime is for certain
versions.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from sharkpy.base.java import find_java
from tests.jars import jars_of
from tests.waiting import allowed

_PACKAGES = (
    ("org.apache.iceberg", "iceberg-spark-runtime-4.1_2.13", "1.11.0"),
    ("org.xerial", "sqlite-jdbc", "3.54.1.0"),
    ("org.apache.spark", "spark-sql_2.13", "4.1.3"),
)
_OPENED = (
    *("lang", "lang.invoke", "lang.reflect", "io", "net", "nio", "util", "util.concurrent"),
    "util.concurrent.atomic",
)
_JVM = (
    *("-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Djava.net.preferIPv4Stack=true"),
    *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in _OPENED),
    *(f"--add-opens=java.base/sun.{name}=ALL-UNNAMED" for name in ("nio.ch", "nio.cs", "util.calendar")),
)


class IcebergSpark:
    """Spark whose catalog `name` is the one of that name in a file of SQLite, with tables below `warehouse`."""

    def __init__(self, folder: Path, name: str, sqlite: str, warehouse: str) -> None:
        self._catalog = name
        with open(folder / "spark.log", "wb") as log:
            port, token, self._process = launch_gateway(
                classpath=":".join(jar for package in _PACKAGES for jar in jars_of(*package)),
                javaopts=list(_JVM),
                java_path=find_java().executable,
                die_on_exit=True,
                enable_auth=True,
                redirect_stderr=log,
                return_proc=True,
            )
        parameters = GatewayParameters(port=port, auth_token=token, auto_convert=True)
        self._gateway = JavaGateway(gateway_parameters=parameters)
        catalog = f"spark.sql.catalog.{name}"
        self._spark = self._session(
            {
                catalog: "org.apache.iceberg.spark.SparkCatalog",
                f"{catalog}.type": "jdbc",
                f"{catalog}.uri": f"jdbc:sqlite:{sqlite}",
                f"{catalog}.warehouse": warehouse,
                # Other programs write, too.
                f"{catalog}.cache-enabled": "false",
                "spark.local.dir": str(folder),
                "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
            }
        )

    def _session(self, conf: Mapping[str, str]) -> Any:
        jvm: Any = self._gateway.jvm
        builder = jvm.org.apache.spark.sql.SparkSession.builder().master("local[1]")
        given = {
            "spark.ui.enabled": "false",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.sql.shuffle.partitions": "1",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        }
        for key, value in {**given, **conf}.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()

    def name(self, table: str) -> str:
        """Name that a table of the namespace `default` has here."""
        return f"`{self._catalog}`.`default`.`{table}`"

    def run(self, *statements: str) -> None:
        for one in statements:
            self._spark.sql(one)

    def rows(self, sql: str) -> list[tuple[str | None, ...]]:
        """Rows of texts, as CAST to STRING gives them."""
        found = self._spark.sql(sql)
        names = list(found.columns())
        casts = self._gateway.new_array(self._gateway.jvm.java.lang.String, len(names))
        for place, name in enumerate(names):
            casts[place] = f"CAST(`{name}` AS STRING)"
        return [tuple(row.get(place) for place in range(len(names))) for row in found.selectExpr(casts).collectAsList()]

    def close(self) -> None:
        self._gateway.shutdown()
        # The JVM ends with this pipe.
        self._process.stdin.close()
        try:
            self._process.wait(allowed(30))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
