"""Continuous tables that are rolled back, altered, paused and resumed at random moments while files arrive: each has at
any time what the queries give over the first files, each row once, and all of them in the end.
"""

from __future__ import annotations

import itertools
import os
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError, SharkError
from sharkpy.streaming import kill_points
from tests.children import child
from tests.faults.test_killed_epochs import KINDS, PER_FILE, put_file
from tests.rows import rows
from tests.streaming.folder_input import make_stream
from tests.waiting import until

QUERY = "SELECT n, concat('p', n % 3) AS s, n * {0} AS v, {0} AS version FROM numbers"
"""Query of a version, whose number grows with each ALTER."""

LAST = "TIMESTAMP AS OF '2999-01-01 00:00:00'"


@contextmanager
def forgiven() -> Iterator[None]:
    """Epochs go on in the body: the one that it chooses may be forgotten by then."""
    try:
        yield
    except BindError as error:
        if "is not available" not in error.message:
            raise


def check(context: sharkpy.SharkContext, kind: str, most: Callable[[], int], version: str = "") -> int:
    """The table has the rows of the first files, each once and by one version; the later ones by the same or a newer
    one. Returns the number of files; `most` gives how many there are by then.
    """
    found = sorted(rows(context, f"SELECT n, v, version, s FROM {kind} {version}"))
    assert [row[0] for row in found] == list(range(len(found))), found
    assert len(found) % PER_FILE == 0
    assert len(found) <= most() * PER_FILE
    versions = [row[2] for row in found]
    assert versions == sorted(versions), versions  # type: ignore[type-var]
    assert all(row[1:] == (row[0] * row[2], row[2], f"p{row[0] % 3}") for row in found)  # type: ignore[operator]
    if kind == "parts" and not version:
        named = {name for (name,) in rows(context, "SHOW PARTITIONS parts")}
        # The partitions are listed after the rows: an epoch may have made more, a rollback fewer.
        assert named <= {"s=p0", "s=p1", "s=p2"}
    return len(found) // PER_FILE


CHILD = """
import sys, sharkpy
from sharkpy.base.errors import SharkError
with sharkpy.connect("local[2]", sys.argv[1], **{"shark.stream.kept.epochs": 6}) as context:
    context.streams.start()
    print("started", flush=True)
    for line in sys.stdin:
        try:
            context.sql(line)
        except SharkError as error:
            print(error.message, flush=True)
        else:
            print("", flush=True)
"""


@contextmanager
def other_process(root: Path) -> Iterator[Callable[[str], None]]:
    """Another process that runs statements, and the epochs if this process does not."""
    with child(CHILD, root / "w") as process:

        def run(text: str) -> None:
            process.input.write(f"{text}\n")
            process.input.flush()
            if message := process.output.readline().strip():
                raise BindError(message)

        process.output.readline()
        yield run
        process.input.close()
        assert process.wait() == 0


class Trouble:
    """Random changes of a continuous table, in several sessions and processes, whose statements `runners` run."""

    def __init__(
        self,
        kind: str,
        runners: Sequence[Callable[[str], object]],
        kept: Callable[[], list[int]],
        chance: random.Random,
    ) -> None:
        """`kept` gives the numbers of the kept epochs."""
        self._kind = kind
        self._runners = runners
        self._kept = kept
        self._chance = chance
        self._version = itertools.count(2)
        self.done: list[str] = []

    def make(self) -> None:
        act = self._chance.choice([self._roll_back, self._alter, self._pause])
        with forgiven():
            act()

    def _run(self, verb: str, rest: str = "") -> None:
        self._chance.choice(self._runners)(f"{verb} CONTINUOUS TABLE {self._kind} {rest}")
        self.done.append(f"{verb} {rest}")

    def _roll_back(self) -> None:
        if kept := self._kept():
            self._run("ROLLBACK", f"TO EPOCH {self._chance.choice(kept)}")

    def _alter(self) -> None:
        self._run("ALTER", f"AS {QUERY.format(next(self._version))}")

    def _pause(self) -> None:
        self._run("PAUSE")
        try:
            self._chance.choice([self._roll_back, self._alter, lambda: None])()
            time.sleep(self._chance.random() * 0.05)
        finally:
            self._run("RESUME")


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "troubles",
    [pytest.param(25, id="some"), pytest.param(120, id="many", marks=[pytest.mark.slow, pytest.mark.timeout(3600)])],
)
def test_changed_at_any_moment(tmp_path: Path, kind: str, troubles: int) -> None:
    """`SHARKPY_SEED` replays the choices of a run."""
    seed = int(os.environ.get("SHARKPY_SEED") or random.randrange(1 << 30))
    print(f"SHARKPY_SEED={seed}")
    chance = random.Random(seed)
    few = {"shark.stream.kept.epochs": 6, "shark.compaction.min.blocks": 3}
    put, is_over, wrong = itertools.count(), threading.Event(), list[BaseException]()
    files = 0

    def arrive() -> None:
        nonlocal files
        arriving = random.Random(seed + 1)
        while not is_over.is_set():
            put_file(tmp_path, next(put))
            files += 1
            time.sleep(arriving.random() * 0.1)

    def read(context: sharkpy.SharkContext) -> None:
        try:
            while not is_over.is_set():
                check(context, kind, lambda: files + 1)
                with forgiven():
                    check(context, kind, lambda: files + 1, LAST)
        except (AssertionError, SharkError) as error:
            wrong.append(error)

    with (
        sharkpy.connect("local[2]", tmp_path / "w", **few) as context,
        other_process(tmp_path) as other,
    ):
        make_stream(context, tmp_path / "in", "('max.files.per.epoch' = '2')")
        (tmp_path / "in").mkdir()
        context.sql(f"CREATE CONTINUOUS TABLE {kind} {KINDS[kind]} AS {QUERY.format(1)}")
        query = context.catalog.table("default", kind).continuous
        epochs = context.catalog.streams.epochs
        runners = [context.sql, context.new_session().sql, other]
        trouble = Trouble(kind, runners, lambda: [one.number for one in epochs.kept(query)], chance)
        threads = [threading.Thread(target=arrive), threading.Thread(target=read, args=(context.new_session(),))]
        for thread in threads:
            thread.start()
        try:
            for _ in range(troubles):
                trouble.make()
                time.sleep(chance.random() * 0.2)
                if wrong:
                    break
        finally:
            is_over.set()
            for thread in threads:
                thread.join()
        assert not wrong, (wrong, trouble.done)
        assert any("ROLLBACK" in one for one in trouble.done)
        # A rollback at the end may leave most of the files to be read again.
        until(lambda: check(context, kind, lambda: files) == files, 60 + troubles)
        assert check(context, kind, lambda: files, LAST) == files


@pytest.mark.variants(3)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("statement", ["ROLLBACK CONTINUOUS TABLE {} TO EPOCH 1", "REFRESH CONTINUOUS TABLE {}"])
def test_another_process_goes_on_meanwhile(
    tmp_path: Path, kind: str, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other process writes an epoch whenever a statement has staged its files and is about to place them."""
    put, done = itertools.count(), list[str]()

    def write(step: str) -> None:
        done.append(step)
        if step == kill_points.STAGED and kill_points.COMMITTED not in done:
            put_file(tmp_path, next(put))
            other(f"RESUME CONTINUOUS TABLE {kind}")

    with sharkpy.connect("local[2]", tmp_path / "w") as context, other_process(tmp_path) as other:
        make_stream(context, tmp_path / "in", "('max.files.per.epoch' = '1')")
        (tmp_path / "in").mkdir()
        put_file(tmp_path, next(put))
        context.sql(f"CREATE CONTINUOUS TABLE {kind} {KINDS[kind]} TRIGGER AVAILABLE NOW AS {QUERY.format(1)}").close()
        put_file(tmp_path, next(put))
        context.sql(f"RESUME CONTINUOUS TABLE {kind}").close()
        assert check(context, kind, lambda: 2) == 2
        context.sql(f"PAUSE CONTINUOUS TABLE {kind}").close()
        with monkeypatch.context() as patch:
            patch.setattr(kill_points, "observer", write)
            context.sql(statement.format(kind)).close()
        assert next(put) == 3
        assert check(context, kind, lambda: 3) == (1 if "ROLLBACK" in statement else 3)
        context.sql(f"RESUME CONTINUOUS TABLE {kind}").close()
        assert check(context, kind, lambda: 3) == 3
        assert check(context, kind, lambda: 3, LAST) == 3
