"""Java programs from pyspark's jars: how they are started, apart from what the user's home has."""

from __future__ import annotations

from pathlib import Path

from sharkpy.base.java import find_java
from sharkpy.execution.spark.jvm_process import pyspark_home

JARS = pyspark_home() / "jars"


def java_options(home: Path) -> list[str]:
    """For short runs of programs that take little memory."""
    return [f"-Duser.home={home}", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m", "-Dfile.encoding=UTF-8"]


def java_command(home: Path, main: str) -> list[str]:
    return [find_java().executable, *java_options(home), "-cp", str(JARS / "*"), main]
