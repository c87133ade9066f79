"""Arguments of Spark's process, which every user of the machine may read, and the settings that Spark gets in another
way.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from sharkpy.base.errors import ConfigurationError
from sharkpy.base.java import Java
from sharkpy.base.settings import Conf
from sharkpy.execution import engine as engine_module
from sharkpy.execution.engine import Engine
from sharkpy.execution.spark.jvm_process import java_command
from sharkpy.execution.spark.start import spark_conf

GIVEN = {"spark.hadoop.fs.s3a.secret.key": "hunter2", "spark.hadoop.fs.s3a.endpoint": "host:1"}


def test_secrets_are_no_arguments(tmp_path: Path) -> None:
    conf = spark_conf("local[1]", tmp_path, GIVEN)
    command = java_command(Java("/java/bin/java", 17, "the test"), tmp_path, 1 << 30, conf)
    assert "spark.hadoop.fs.s3a.endpoint=host:1" in command
    assert not any("hunter2" in word for word in command)
    assert conf["spark.hadoop.fs.s3a.secret.key"] == "hunter2", "Spark gets it by the connection"


@pytest.mark.parametrize(
    ("master", "folders"), [("local[2]", []), ("yarn", ["/conf", "/yarn"]), ("k8s://https://api", ["/conf", "/yarn"])]
)
def test_folders_of_hadoops_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str, folders: list[str]
) -> None:
    monkeypatch.setenv("HADOOP_CONF_DIR", "/conf")
    monkeypatch.setenv("YARN_CONF_DIR", "/yarn")
    command = java_command(Java("/java/bin/java", 17, "the test"), tmp_path, 1 << 30, spark_conf(master, tmp_path, {}))
    assert command[command.index("-cp") + 1].split(":")[2:] == folders


def test_sparks_core_comes_first_in_the_class_path(tmp_path: Path) -> None:
    """Each job looks classes of the core up by name, which takes a millisecond longer after 250 other jars."""
    command = java_command(Java("/java/bin/java", 17, "the test"), tmp_path, 1 << 30, spark_conf("yarn", tmp_path, {}))
    core, others = command[command.index("-cp") + 1].split(":")[:2]
    assert Path(core).name.startswith("spark-core_")
    assert Path(core).is_file()
    assert others == f"{Path(core).parent}/*"


def test_a_broadcast_stage_takes_a_small_buffer_on_this_machine(tmp_path: Path) -> None:
    conf = spark_conf("local[2]", tmp_path, {})
    assert (conf["spark.broadcast.blockSize"], conf["spark.broadcast.compress"]) == ("64k", "false")
    assert "spark.broadcast.blockSize" not in spark_conf("yarn", tmp_path, {})


def test_more_classes_come_behind_sparks_own(tmp_path: Path) -> None:
    conf = spark_conf("local[1]", tmp_path, {"spark.driver.extraClassPath": "/a.jar:/b.jar"})
    command = java_command(Java("/java/bin/java", 17, "the test"), tmp_path, 1 << 30, conf)
    assert command[command.index("-cp") + 1].split(":")[2:] == ["/a.jar", "/b.jar"]


def test_spark_gets_the_settings_of_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, str] = {}

    def connect_spark(_master: str, _scratch: Path, overrides: Mapping[str, str], *_: object) -> None:
        seen.update(overrides)
        raise ConfigurationError("there is no Spark in this test")

    monkeypatch.setattr(engine_module, "connect_spark", connect_spark)
    engine = Engine(Conf({**GIVEN, "fs.s3a.secret.key": "other", "shark.master": "local[1]"}), tmp_path / "w")
    try:
        with pytest.raises(ConfigurationError, match="no Spark in this test"):
            _ = engine.jobs
    finally:
        engine.stop()
    assert seen == GIVEN
