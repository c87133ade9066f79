"""Processes killed while an epoch skips bad rows: none of them is lost or comes twice, and they come with the epoch."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

import sharkpy
from sharkpy.streaming import kill_points
from tests.faults.test_killed_epochs import runner
from tests.rows import rows
from tests.streaming.folder_input import make_stream, numbers
from tests.waiting import until

TARGETS = {
    "table": "CREATE CONTINUOUS TABLE t ON BAD ROW SKIP TO bad AS SELECT n FROM numbers",
    "insert": "CREATE CONTINUOUS INSERT c ON BAD ROW SKIP TO bad AS INSERT INTO t SELECT n FROM numbers",
    "sink": "CREATE CONTINUOUS SINK c TO FOLDER '{}' STORED AS JSONFILE TRIGGER EVERY 1 MILLISECONDS"
    " ON BAD ROW SKIP TO bad AS SELECT n FROM numbers",
}


def put_file(root: Path, number: int) -> None:
    """A good record, and two bad ones that tell of their file."""
    hidden = root / "in" / f".{number}"
    hidden.write_text(f'{{"n": {number}}}\n{{"n": "bad {number}"}}\nbad {number}\n')
    hidden.rename(root / "in" / f"{number:05}")


def check_prefix(context: sharkpy.SharkContext, epochs_files: int) -> None:
    """The good rows of the first files are there, and their bad ones, each once."""
    good = numbers(context)
    assert good == list(range(epochs_files))
    bad = sorted(str(row[0]) for row in rows(context, "SELECT record FROM bad"))
    assert bad == sorted(text for n in good for text in (f'{{"n": "bad {n}"}}', f"bad {n}"))


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", TARGETS)
@pytest.mark.parametrize("step", kill_points.POINTS)
def test_killed_between_two_steps(tmp_path: Path, step: str, kind: str) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make_stream(context, tmp_path / "in", "('max.files.per.epoch' = '1')")
        (tmp_path / "in").mkdir()
        if kind == "insert":
            context.sql("CREATE TABLE t (n BIGINT)")
        context.sql(TARGETS[kind].format(tmp_path / "out"))
        if kind == "sink":
            context.sql(f"CREATE EXTERNAL TABLE t (n BIGINT) STORED AS JSONFILE LOCATION '{tmp_path / 'out'}'")
    for number in range(3):
        put_file(tmp_path, number)
    with runner(tmp_path, step, 2) as process:
        assert process.wait(120) == -signal.SIGKILL
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        if kind != "sink":
            check_prefix(
                context, 1 if step in kill_points.POINTS[: kill_points.POINTS.index(kill_points.COMMITTED)] else 2
            )
        context.streams.start()
        put_file(tmp_path, 3)
        until(lambda: len(rows(context, "SELECT record FROM bad")) >= 8 and len(numbers(context)) >= 4)
        check_prefix(context, 4)
