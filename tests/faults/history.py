"""Histories of statements that several processes run on one table at once, and the search for anomalies in them.

The table has the columns k, v and touched. No two rows have the same v. INSERT appends rows to several keys k at once,
UPDATE adds 1 to `touched` of all rows of a key, and no row is removed. So a table that is strictly serializable passes
through growing states, and each read returns one of them.
"""

from __future__ import annotations

import json
import random
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, pairwise
from math import inf
from pathlib import Path

import sharkpy
from sharkpy.base.errors import SharkError, TableChangedError
from tests.streaming.folder_input import put

KEYS = 4
Row = tuple[int, int, int]
"""Values of k, v and touched."""
State = dict[int, tuple[int, int]]
"""Values of k and touched by v."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A statement, from `begin` to `end` in nanoseconds of the machine's monotonic clock.

    `kind` is insert, update or read. `outcome` is done, failed (without effect), or unknown (with or without effect).
    `end` is infinite if the process was killed before it logged the end. `rows` are inserted or read; an UPDATE has
    `key`, and a read of an earlier version has `version`. `error`: message of a statement with an unknown outcome.
    """

    kind: str
    begin: float
    end: float = inf
    outcome: str = "unknown"
    rows: tuple[Row, ...] = ()
    key: int = 0
    version: int | None = None
    error: str = ""


def anomalies(history: Iterable[Operation]) -> list[str]:
    """Describe what no strictly serializable table can have returned."""
    writes, reads = list[Operation](), list[Operation]()
    for one in history:
        if one.kind != "read":
            writes.append(one)
        elif one.outcome == "done":
            reads.append(one)
    return [*_wrong_rows(writes, reads), *_wrong_order(reads)]


def _wrong_rows(writes: list[Operation], reads: list[Operation]) -> Iterator[str]:
    """Compare each read with the writes that ended before it, and with the writes that began before its end."""
    inserts = [one for one in writes if one.kind == "insert"]
    insert_of = {v: one for one in inserts for _, v, _ in one.rows}
    key_of = {v: k for one in inserts for k, v, _ in one.rows}
    updates = [one for one in writes if one.kind == "update" and one.outcome != "failed"]

    @cache
    def ends_after(v: int) -> list[float]:
        return sorted(
            one.end
            for one in updates
            if one.key == key_of[v] and one.outcome == "done" and one.begin > insert_of[v].end
        )

    @cache
    def begins_before(v: int) -> list[float]:
        return sorted(one.begin for one in updates if one.key == key_of[v] and one.end > insert_of[v].begin)

    for one in inserts:
        later = [read for read in reads if read.begin > one.end and read.version is None]
        if one.outcome == "unknown" and len({one.rows[0][1] in {v for _, v, _ in read.rows} for read in later}) > 1:
            yield f"INSERT at {one.begin}: only some reads after its end have its rows"
    for read in reads:
        name = f"read at {read.begin}" if read.version is None else f"read of version {read.version} at {read.begin}"
        seen = {v: touched for k, v, touched in read.rows if key_of.get(v) == k}
        if len(seen) < len(read.rows):
            yield f"{name}: duplicate rows, or rows that were not inserted"
        # Statements that ended before this one were carried out before the read's state.
        since = max((insert_of[v].begin for v in seen), default=-inf)
        since = since if read.version is not None else max(since, read.begin)
        for one in inserts:
            found = sum(v in seen for _, v, _ in one.rows)
            if 0 < found < len(one.rows):
                yield f"{name}: {found} of {len(one.rows)} rows of the INSERT at {one.begin}"
            if found and (one.outcome == "failed" or one.begin > read.end):
                yield f"{name}: rows of the INSERT at {one.begin}, which is later or has failed"
            if not found and one.outcome == "done" and one.end < since:
                yield f"{name}: no rows of the INSERT at {one.begin}, which has ended"
        for v, touched in seen.items():
            least, most = bisect_left(ends_after(v), since), bisect_left(begins_before(v), read.end)
            if not least <= touched <= most:
                yield f"{name}: row {v} was updated {touched} times instead of {least} to {most} times"


def _wrong_order(reads: list[Operation]) -> Iterator[str]:
    """Order the reads by their states. Each state contains the one before it, as do later reads and later versions."""
    states = {id(one): {v: (k, touched) for k, v, touched in one.rows} for one in reads}

    def size(one: Operation) -> tuple[int, int]:
        return len(one.rows), sum(touched for _, _, touched in one.rows)

    rank = 0
    ranks = {id(one): 0 for one in reads}
    for before, after in pairwise(sorted(reads, key=size)):
        if states[id(before)] != states[id(after)]:
            rank += 1
            if problem := _contradiction(states[id(before)], states[id(after)]):
                yield f"reads at {before.begin} and {after.begin}: {problem}"
        ranks[id(after)] = rank
    current = sorted((one for one in reads if one.version is None), key=lambda one: one.end)
    ends = [one.end for one in current]
    highest = list(accumulate((ranks[id(one)] for one in current), max))
    for one in current:
        earlier = bisect_left(ends, one.begin)
        if earlier and highest[earlier - 1] > ranks[id(one)]:
            yield f"read at {one.begin}: less than an earlier read"
    versions = sorted((one.version, ranks[id(one)]) for one in reads if one.version is not None)
    for (version, before_rank), (next_version, next_rank) in pairwise(versions):
        if before_rank > next_rank or (version == next_version and before_rank != next_rank):
            yield f"version {next_version}: less than version {version}, or not equal to itself"


def _contradiction(before: State, after: State) -> str:
    """Say why no table can have had one state and then the other; empty if it can."""
    added: dict[int, set[int]] = defaultdict(set)
    for v, (k, touched) in before.items():
        if v not in after:
            return f"only the smaller one has row {v}"
        added[k].add(after[v][1] - touched)
    for k, counts in added.items():
        if len(counts) > 1 or min(counts) < 0:
            return f"rows of key {k} were updated {sorted(counts)} times between them"
    return ""


def operations(folder: Path) -> list[Operation]:
    """Read the logs in a folder. A killed process may have written a part of its last line."""
    history: list[Operation] = []
    for path in sorted(folder.iterdir()):
        found: dict[int, Operation] = {}
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                facts = json.loads(line)
                if "rows" in facts:
                    facts["rows"] = tuple(map(tuple, facts["rows"]))
                begin = facts["begin"]
                found[begin] = replace(found[begin], **facts) if begin in found else Operation(**facts)
        history += found.values()
    return history


def work(warehouse: str, settings: str, logs: str, seed: str, number: str, seconds: str, folder: str) -> None:
    """Run two sessions in this process, and continuous inserts if `folder` is not empty."""
    with (
        sharkpy.connect("local[2]", warehouse, **json.loads(settings)) as context,
        ThreadPoolExecutor(2) as threads,
    ):
        if folder:
            context.streams.start()
        sessions = [
            Session(
                context.new_session(), Path(logs), int(seed), 2 * int(number) + one, Path(folder) if folder else None
            )
            for one in range(2)
        ]
        print("ready", flush=True)
        for future in [threads.submit(session.run, float(seconds)) for session in sessions]:
            future.result()


class Session:
    """Session that runs random statements, and logs the begin and the end of each.

    `number` is unique, and makes values of v unique. `folder`: input of a continuous insert in this process, if any.
    """

    def __init__(
        self, context: sharkpy.SharkContext, logs: Path, seed: int, number: int, folder: Path | None = None
    ) -> None:
        self._context = context
        self._log = logs / f"{number:03}"
        self._folder = folder
        self._chance = random.Random(f"{seed} {number}")
        self._next = 1_000_000 * number

    def run(self, seconds: float) -> None:
        names = ["insert", "update", "read", "version"]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            match self._chance.choices([*names, "file"], [3, 2, 4, 2, 1 if self._folder else 0])[0]:
                case "insert":
                    self.insert()
                case "update":
                    key = self._chance.randrange(KEYS)
                    self.logged(f"UPDATE t SET touched = touched + 1 WHERE k = {key}", kind="update", key=key)
                case "read":
                    self.read()
                case "version":
                    self.read_version()
                case "file":
                    self.put_file(end)

    def insert(self, keys: Iterable[int] = ()) -> None:
        rows = self._new_rows(keys)
        values = ", ".join(map(str, rows))
        self.logged(f"INSERT INTO t (k, v, touched) VALUES {values}", kind="insert", rows=rows)

    def read(self, version: int | None = None) -> list[Row]:
        clause = "" if version is None else f"FOR SYSTEM_VERSION AS OF {version}"
        return self.logged(f"SELECT k, v, touched FROM t {clause}", kind="read", version=version)

    def read_version(self) -> None:
        self.read(self._chance.choice(self.versions()))

    def versions(self) -> list[int]:
        return [row[0] for row in self._context.sql("DESCRIBE HISTORY t").fetchall()]

    def put_file(self, end: float) -> None:
        """Give a file to the stream. It is inserted when a read returns its rows."""
        assert self._folder is not None
        rows = self._new_rows(())
        begin = time.monotonic_ns()
        self._write(kind="insert", begin=begin, rows=rows)
        put(self._folder, str(rows[0][1]), [{"k": k, "v": v} for k, v, _ in rows])
        while time.monotonic() < end:
            if rows[0] in [(k, v, 0) for k, v, _ in self.read()]:
                self._write(begin=begin, end=time.monotonic_ns(), outcome="done")
                return

    def logged(self, text: str, **facts: object) -> list[Row]:
        """Run a statement, and log it."""
        begin = time.monotonic_ns()
        self._write(begin=begin, **facts)
        rows: list[Row] = []
        try:
            rows = self._context.sql(text).fetchall()
        except TableChangedError:
            self._write(begin=begin, end=time.monotonic_ns(), outcome="failed")
        except SharkError as error:
            self._write(begin=begin, end=time.monotonic_ns(), error=f"{type(error).__name__}: {error}")
        else:
            read = {"rows": rows} if facts["kind"] == "read" else {}
            self._write(begin=begin, end=time.monotonic_ns(), outcome="done", **read)
        return rows

    def _new_rows(self, keys: Iterable[int]) -> list[Row]:
        keys = list(keys) or [self._chance.randrange(KEYS) for _ in range(self._chance.randint(1, 3))]
        first, self._next = self._next, self._next + len(keys)
        return [(key, first + place, 0) for place, key in enumerate(keys)]

    def _write(self, **facts: object) -> None:
        with open(self._log, "a") as log:
            log.write(f"{json.dumps(facts)}\n")
