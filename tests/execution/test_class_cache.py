"""Class cache of the JVM: found under its own name, ignored if it is not whole, trained by `sharkpy warmup`."""

from __future__ import annotations

import dataclasses
import logging
import subprocess
import sys
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.java import Java, find_java
from sharkpy.cli.warmup import cache_state
from sharkpy.execution.spark.jvm_process import (
    ClassCache,
    cache_dir,
    class_cache,
    find_class_cache,
    is_training,
    java_command,
    pyspark_home,
)

ROOT = Path(__file__).parents[2]
_IMPORTS = "from pathlib import Path; from tests.execution import test_class_cache as tests\n"
JAVA = Java("/opt/java/bin/java", 17, "a test")


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    cache_dir().mkdir()
    return cache_dir()


def trained(java: Java, content: bytes = b"classes") -> ClassCache:
    """Make a cache as if a training run had written it."""
    cache = class_cache(java, pyspark_home())
    written = cache.path.with_suffix(".new")
    written.write_bytes(content)
    assert cache.publish(written) == len(content)
    return cache


def test_options_by_version() -> None:
    older, newer = class_cache(JAVA, Path("p")), class_cache(dataclasses.replace(JAVA, version=25), Path("p"))
    assert older.use() == [f"-XX:SharedArchiveFile={older.path}"]
    assert newer.use() == [f"-XX:AOTCache={newer.path}"]
    for cache in (older, newer):
        assert is_training(f"-Xint {cache.train(Path('new'))}")
        assert not is_training(" ".join(cache.use()))


def test_a_cache_is_for_one_java_and_one_pyspark() -> None:
    paths = {
        class_cache(JAVA, Path("p")).path,
        class_cache(JAVA, Path("q")).path,
        class_cache(dataclasses.replace(JAVA, executable="/usr/bin/java"), Path("p")).path,
        class_cache(dataclasses.replace(JAVA, version=21), Path("p")).path,
    }
    assert len(paths) == 4


def test_found_while_it_is_whole(caplog: pytest.LogCaptureFixture) -> None:
    assert find_class_cache(JAVA, pyspark_home()) is None
    cache = trained(JAVA)
    assert find_class_cache(JAVA, pyspark_home()) == cache
    assert caplog.records == []
    cache.path.write_bytes(b"class")
    with caplog.at_level(logging.WARNING, "sharkpy"):
        assert find_class_cache(JAVA, pyspark_home()) is None
    assert "is ignored: it is not as its training run left it" in caplog.text
    cache.drop()
    assert cache.fault() == ""


def test_a_damaged_note(caplog: pytest.LogCaptureFixture) -> None:
    cache = trained(JAVA)
    cache.note.write_text("{")
    assert find_class_cache(JAVA, pyspark_home()) is None
    assert "is ignored" in caplog.text


def test_the_command_has_the_option(tmp_path: Path) -> None:
    cache = trained(JAVA)
    conf = {"spark.driver.extraJavaOptions": "-Da=b '-Dc=d e'"}
    command = java_command(JAVA, tmp_path, 1 << 30, conf, cache)
    assert [cache.use()[0], "-Da=b", "-Dc=d e"] == command[command.index("-cp") - 3 : command.index("-cp")]


def run_tasks(warehouse: Path) -> list[tuple[object, ...]]:
    with sharkpy.connect("local[1]", warehouse, shark_placement_driver=False) as context:
        context.sql("CREATE TABLE t (k INT); INSERT INTO t VALUES (1), (2)")
        rows = context.sql("SELECT sum(k) FROM t").fetchall()
        assert context.engine.is_spark_started
        return rows


def run_apart(program: str, seconds: float = 100) -> str:
    """Output of a program in a process of its own: in this one a JVM may run already."""
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True, timeout=seconds
    )
    return run.stdout + run.stderr


@pytest.mark.slow
@pytest.mark.spark
def test_a_session_starts_with_nonsense_for_a_cache(tmp_path: Path) -> None:
    trained(find_java(), b"\0" * 100_000)
    work = f"print(tests.run_tasks(Path({str(tmp_path / 'w')!r})))"
    assert "[(3,)]" in run_apart(
        f"from pathlib import Path; from tests.execution import test_class_cache as tests\n{work}"
    )


@pytest.mark.slow
@pytest.mark.spark
def test_a_jvm_that_dies_of_its_cache_is_started_without(tmp_path: Path) -> None:
    cache = trained(find_java())
    told = run_apart(
        _IMPORTS + "options = ['-XX:+NoSuchOptionAtAll', '-XX:-IgnoreUnrecognizedVMOptions']\n"
        f"tests.ClassCache.use = lambda _: options; print(tests.run_tasks(Path({str(tmp_path / 'w')!r})))"
    )
    assert "[(3,)]" in told
    assert "once more, without its class cache" in told
    assert cache.fault() == ""


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_warmup(tmp_path: Path) -> None:
    assert cache_state().startswith("none")
    told = run_apart("import sys; from sharkpy.cli.main import main; sys.exit(main(['warmup']))", 400)
    assert "class cache of " in told
    cache = find_class_cache(find_java(), pyspark_home())
    assert cache is not None
    assert cache.path.stat().st_size > 10_000_000
    assert cache_state().endswith(" MB")
    work = "print(tests.run_tasks(Path({!r})))"
    assert "[(3,)]" in run_apart(_IMPORTS + work.format(str(tmp_path / "w")))
    cut = cache.path.read_bytes()[: 1 << 20]
    cache.path.unlink()
    cache.path.write_bytes(cut)
    assert "is ignored" in cache_state()
    told = run_apart(_IMPORTS + work.format(str(tmp_path / "w2")))
    assert "[(3,)]" in told
    assert "is ignored" in told
