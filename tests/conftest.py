"""Options of the suite and what its parts share: one Spark session for all tests that need a JVM."""

from __future__ import annotations

import dataclasses
import gc
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest

import sharkpy
from sharkpy.base import settings
from tests import examples, variants
from tests.failure_lines import FailureLines
from tests.file_scheduling import FileScheduling, mark_waiting, sort_by_length

# Results shall not depend on the machine's zone: the session's zone is the process's.
os.environ["TZ"] = "UTC"
time.tzset()
# What a shell starts in the background ignores it, and so would all that is interrupted here.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The time of one example depends on the load of the machine; whole tests have a limit of time.
hypothesis.settings.register_profile("sharkpy", hypothesis.settings.default, deadline=None)
hypothesis.settings.load_profile("sharkpy")

# A rule of the optimizer that breaks a plan fails in each test whose plan it breaks.
settings.CHECK_RULES = dataclasses.replace(settings.CHECK_RULES, default=True)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from xdist.remote import Producer

    from sharkpy.execution.engine import Engine


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = "every configuration and oracle of .slt files, all examples of properties"
    parser.addoption("--all", action="store_true", help=help_text)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    variants.mark_slow(items)
    mark_waiting(items)
    if hasattr(config, "workerinput"):
        sort_by_length(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> FileScheduling:
    return FileScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    examples.run_all = config.getoption("--all")
    # A kept stage that is not the one of a new plan fails in each test that runs it.
    settings.CHECK_STAGES = dataclasses.replace(settings.CHECK_STAGES, default=examples.run_all)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(FailureLines(config.pluginmanager.get_plugin("terminalreporter")))


def pytest_collection_finish() -> None:
    """Modules and collected tests stay to the end: the many collections of garbage below need not visit them."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    gc.unfreeze()


@pytest.fixture
def context(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[sharkpy.SharkContext]:
    """Session on two local cores: an empty warehouse, `tmp_path / "w"`, and the settings of marks `settings`."""
    marks = reversed(list(request.node.iter_markers("settings")))
    settings = {key: value for mark in marks for key, value in mark.args[0].items()}
    with sharkpy.connect("local[2]", tmp_path / "w", **settings) as context:
        yield context


@pytest.fixture(scope="session")
def spark_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Engine on two local cores; its JVM starts with the first test that runs a job."""
    from sharkpy.base.settings import Conf
    from sharkpy.execution.engine import Engine

    conf = Conf({"shark.master": "local[2]", "shark.store.memory.limit": "256m", "shark.jvm.memory": "1g"})
    engine = Engine(conf, tmp_path_factory.mktemp("warehouse"))
    yield engine
    engine.stop()


@pytest.fixture(scope="session")
def shared_spark(spark_engine: Engine) -> Engine:
    """Spark has started: sessions of this process that are made from now on share its JVM."""
    _ = spark_engine.jobs
    return spark_engine


@pytest.fixture(scope="session")
def spark_sql(shared_spark: Engine) -> SparkSession:
    """Spark SQL as the oracle of Hive's answers, in the JVM of all tests: only the suite stops it."""
    from pyspark.sql import SparkSession

    session = SparkSession(shared_spark.jobs.context).newSession()
    settings = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.crossJoin.enabled": "true",
        "spark.sql.legacy.nullInEmptyListBehavior": "false",
        "spark.sql.legacy.sizeOfNull": "true",
    }
    for key, value in settings.items():
        session.conf.set(key, value)
    return session
