"""Continuous queries that several sessions and processes make, resume and drop at once: each epoch is written once."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import TableExistsError
from tests.faults.test_killed_epochs import KINDS, PER_FILE, check_prefix, put_file
from tests.rows import rows
from tests.streaming.folder_input import make_stream, numbers, until_numbers

SELECT = "SELECT n, concat('p', n % 3) AS s FROM numbers"
AT_ONCE = 4
CHILD = """
import sys, sharkpy
from sharkpy.base.errors import SharkError
with sharkpy.connect("local[2]", sys.argv[1]) as context:
    print("ready", flush=True)
    sys.stdin.readline()
    for statement in sys.argv[2:]:
        try:
            context.sql(statement)
        except SharkError as error:
            print(type(error).__name__, flush=True)
        else:
            print("done", flush=True)
    sys.stdin.readline()
"""


def at_once(works: list[Callable[[], object]]) -> list[Exception]:
    """Do several works at once; returns the errors."""
    errors, barrier = list[Exception](), threading.Barrier(len(works))

    def run(work: Callable[[], object]) -> None:
        barrier.wait()
        try:
            work()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("words", ["", "IF NOT EXISTS"])
def test_sessions_that_make_one_table(tmp_path: Path, words: str, kind: str) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, tmp_path / "in", "('max.files.per.epoch' = '1')")
        for number in range(3):
            put_file(tmp_path, number)
        sessions = [context.new_session() for _ in range(AT_ONCE)]
        text = f"CREATE CONTINUOUS TABLE {words} {kind} {KINDS[kind]} AS {SELECT}"
        errors = at_once([lambda one=one: one.sql(text) for one in sessions])  # type: ignore[misc]
        assert all(isinstance(error, TableExistsError) for error in errors), errors
        assert len(errors) == (0 if words else AT_ONCE - 1)
        assert len(context.catalog.streams.queries()) == 1
        until_numbers(context, range(3 * PER_FILE), kind)
        assert [row[0] for row in rows(context, f"SHOW EPOCHS {kind}")] == [3, 2, 1]


@pytest.mark.parametrize(
    "made",
    [
        f"INSERT IF NOT EXISTS c AS INSERT INTO t {SELECT}",
        f"SINK IF NOT EXISTS c TO FOLDER '{{0}}/out' STORED AS JSONFILE TRIGGER AVAILABLE NOW AS {SELECT}",
    ],
)
def test_sessions_that_make_one_insert_or_sink(tmp_path: Path, made: str) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, tmp_path / "in")
        put_file(tmp_path, 0)
        context.sql("CREATE TABLE t (n BIGINT, s STRING)")
        sessions = [context.new_session() for _ in range(AT_ONCE)]
        text = f"CREATE CONTINUOUS {made.format(tmp_path)}"
        assert at_once([lambda one=one: one.sql(text) for one in sessions]) == []  # type: ignore[misc]
        assert len(context.catalog.streams.queries()) == 1
        if "INSERT" in made:
            until_numbers(context, range(PER_FILE))
        else:
            assert sum(len(path.read_text().splitlines()) for path in (tmp_path / "out").glob("[!.]*")) == PER_FILE


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", KINDS)
def test_processes_that_make_and_resume_one_table(tmp_path: Path, kind: str) -> None:
    """Both run its epochs: the catalog lets one of them write each."""
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, tmp_path / "in", "('max.files.per.epoch' = '1')")
        for number in range(6):
            put_file(tmp_path, number)
    create = f"CREATE CONTINUOUS TABLE IF NOT EXISTS {kind} {KINDS[kind]} TRIGGER AVAILABLE NOW AS {SELECT}"
    command = [sys.executable, "-c", CHILD, str(tmp_path / "w"), create, f"RESUME CONTINUOUS TABLE {kind}"]
    processes = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        outputs = [""] * 2

        def work(place: int) -> None:
            outputs[place] = processes[place].communicate("\n\n", timeout=100)[0]

        assert at_once([lambda: work(0), lambda: work(1)]) == []
        assert outputs == ["done\ndone\n"] * 2
    finally:
        for process in processes:
            process.kill()
            process.wait()
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        assert check_prefix(context, kind, 6) == 6
        written = [row[0] for row in rows(context, f"SHOW EPOCHS {kind}") if row[1] == "WRITTEN"]
        assert written == list(range(6, 0, -1))


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", KINDS)
def test_sessions_that_steer_one_table(tmp_path: Path, kind: str) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, tmp_path / "in", "('max.files.per.epoch' = '1')")
        (tmp_path / "in").mkdir()
        context.sql(f"CREATE CONTINUOUS TABLE {kind} {KINDS[kind]} AS {SELECT}")
        sessions = [context.new_session() for _ in range(AT_ONCE)]
        for number in range(8):
            put_file(tmp_path, number)
            verbs = ["PAUSE", "RESUME", "RESUME", "REFRESH"] if number % 3 == 2 else ["PAUSE", "RESUME"] * 2
            works = [
                lambda one=one, verb=verb: one.sql(f"{verb} CONTINUOUS TABLE {kind}")  # type: ignore[misc]
                for one, verb in zip(sessions, verbs, strict=True)
            ]
            assert at_once(works) == []
            found = numbers(context, kind)
            assert found == list(range(len(found)))
        context.sql(f"RESUME CONTINUOUS TABLE {kind}")
        until_numbers(context, range(8 * PER_FILE), kind)
