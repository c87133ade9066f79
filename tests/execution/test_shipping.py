"""Shipping to workers on other hosts, and the errors for workers that do not fit."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from sharkpy.base.errors import ConfigurationError
from sharkpy.execution.spark.start import own_address, spark_conf
from sharkpy.execution.workers import worker_environment


def test_the_zip_is_the_package(tmp_path: Path) -> None:
    """The zip can be imported by itself, with the linked folders, and equal packages make equal files."""
    path = worker_environment.package_zip(tmp_path)
    other = tmp_path / "again"
    other.mkdir()
    assert worker_environment.package_zip(other).name == path.name
    assert worker_environment.package_zip(other).read_bytes() == path.read_bytes()
    names = zipfile.ZipFile(path).namelist()
    assert {"sharkpy/__init__.py", "sharkpy/columnar/block.py", "sharkpy/udf/registry.py"} <= set(names)
    assert not any("__pycache__" in name for name in names)
    program = (
        f"import sys; sys.path.insert(0, {str(path)!r}); import sharkpy.execution.workers.stage_task as w;"
        "import sharkpy.columnar.block;"
        "print(w.__file__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.startswith(str(path))


def test_what_does_not_fit() -> None:
    expected = worker_environment.expected_versions()
    assert worker_environment.version_differences(expected) == []
    worker_environment.check_worker(expected)
    python = ".".join(map(str, sys.version_info[:2]))
    with pytest.raises(
        ConfigurationError, match=rf'worker host ".+": python {python}, the driver has 3\.99;'
    ) as caught:
        worker_environment.check_worker(expected.replace(f"python {python}", "python 3.99"))
    assert "spark.pyspark.python" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "Lost task 0.3 in stage 0.0 (TID 3) (node7 executor 1): java.io.IOException: "
            'Cannot run program "/x/python": error=2',
            'worker host "node7": Python was not found at "/x/python"',
        ),
        (
            "(TID 3) (node7 executor 1): [PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.11 than "
            "that in driver: 3.13, PySpark cannot run",
            'worker host "node7": python 3.11, the driver has 3.13',
        ),
        (
            "(TID 0) (10.0.0.4 executor 2): ModuleNotFoundError: No module named 'duckdb'",
            'worker host "10.0.0.4": the Python package "duckdb" is missing',
        ),
        (
            'Error from python worker:\n  sharkpy cannot run on this worker: worker host "n": duckdb is missing, the '
            "driver has 2.0.0\nPYTHONPATH was: x",
            'worker host "n": duckdb is missing, the driver has 2.0.0',
        ),
        (
            "(TID 1) (n executor 2): Error from python worker:\n  Traceback\n  SyntaxError: no\nPYTHONPATH was:\n x",
            'worker host "n": SyntaxError: no',
        ),
    ],
)
def test_what_spark_says_of_a_worker(text: str, message: str) -> None:
    problem = worker_environment.worker_problem(text)
    assert problem is not None
    assert problem.message.strip() == message


def test_any_other_failure_is_no_problem_of_the_worker() -> None:
    assert worker_environment.worker_problem("Job aborted due to stage failure: Task 0 in stage 1.0 failed") is None


def test_the_driver_is_local_unless_executors_are_elsewhere(tmp_path: Path) -> None:
    for master in ("local[2]", "local-cluster[2,1,1024]"):
        assert spark_conf(master, tmp_path, {})["spark.driver.host"] == "127.0.0.1"
    assert own_address("spark://127.0.0.1:7077") == "127.0.0.1"
    conf = spark_conf("spark://127.0.0.1:7077", tmp_path, {"spark.locality.wait": "1s"})
    assert conf["spark.driver.bindAddress"] == "127.0.0.1"
    assert conf["spark.locality.wait"] == "1s"
    assert str(tmp_path) not in conf["spark.python.unix.domain.socket.dir"]
    for master in ("yarn", "k8s://https://10.0.0.1:6443"):
        assert own_address(master) is None
        assert "spark.driver.host" not in spark_conf(master, tmp_path, {})
