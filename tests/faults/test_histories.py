"""Several processes write and read one table: the history has no anomaly, even if processes die and requests fail."""

from __future__ import annotations

import json
import random
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

import sharkpy
from tests.children import Child
from tests.faults.history import KEYS, Operation, Row, Session, anomalies, operations
from tests.storage.fault_proxy import Rule, fault_proxy
from tests.storage.s3_servers import MotoServer, S3Server, running
from tests.storage.warehouses import keys

CHILD = "import sys; from tests.faults.history import work; work(*sys.argv[1:])"
COLUMNS = "(k INT, v BIGINT, touched INT)"
KINDS = {
    "plain": f"{COLUMNS} STORED AS PARQUET",
    "cached": f"{COLUMNS} TBLPROPERTIES ('shark.cache' = 'MEMORY')",
    "parts": "(v BIGINT, touched INT) PARTITIONED BY (k INT) STORED AS PARQUET",
    "cached_parts": "(v BIGINT, touched INT) PARTITIONED BY (k INT) TBLPROPERTIES ('shark.cache' = 'MEMORY')",
}
"""Definitions of the table."""
STREAM = "CREATE STREAM given (k INT, v BIGINT) STORED AS JSONFILE FROM FOLDER '{}' ('max.files.per.epoch' = '2')"
CONTINUOUS = "CREATE CONTINUOUS INSERT fill AS INSERT INTO t (k, v, touched) SELECT k, v, 0 FROM given"
BUCKET = "histories"
MOST_VERSIONS = 30
"""Versions that are read after the last write."""


def record(
    root: Path,
    warehouse: str,
    conf: dict[str, str],
    kind: str,
    seed: int,
    seconds: float,
    *,
    kills: int,
    processes: int = 3,
) -> None:
    """Run processes with two sessions each, the first one with the continuous insert. Kill and replace some of them."""
    chance, logs, folder = random.Random(seed), root / "logs", root / "in"
    logs.mkdir()
    folder.mkdir()
    with sharkpy.connect("local[2]", warehouse, **conf) as context:
        context.sql(f"CREATE TABLE t {KINDS[kind]}")
        # A row of each key sees all UPDATEs.
        Session(context, logs, seed, 0).insert(range(KEYS))
        context.sql(STREAM.format(folder))
        context.sql(CONTINUOUS)

    def start(number: int, its_seconds: float) -> Child:
        its_folder = folder if number % processes == 1 else ""
        return Child(CHILD, (warehouse, json.dumps(conf), logs, seed, number, its_seconds, its_folder))

    running = {number % processes: start(number, seconds) for number in range(1, processes + 1)}
    try:
        for process in running.values():
            assert process.output.readline() == "ready\n"
        begin = time.monotonic()
        for kill in range(1, kills + 1):
            time.sleep(seconds / (kills + 1) * chance.uniform(0.5, 1))
            place = chance.randrange(processes)
            running[place].kill()
            assert running[place].wait() in (-signal.SIGKILL, 0)
            running[place].close()
            left = max(0.5, begin + seconds - time.monotonic())
            running[place] = start(place + processes * (kill + 1), left)
        for process in running.values():
            assert process.wait(seconds + 120) == 0
    finally:
        for process in running.values():
            process.close()
    with sharkpy.connect("local[2]", warehouse, **conf) as context:
        last = Session(context, logs, seed, 999)
        context.streams.start()
        files = {int(path.name) for path in folder.iterdir()}
        deadline = time.monotonic() + 60
        while not files <= {v for _, v, _ in last.read()}:
            assert time.monotonic() < deadline, f"seed {seed}: rows of files are lost"
        versions = last.versions()
        for version in chance.sample(versions, min(len(versions), MOST_VERSIONS)):
            last.read(version)
        last.read()


def check(root: Path, kind: str, seed: int, seconds: float, **more: Any) -> None:
    """Record a history, and look for anomalies. `errors`: pattern of the errors that statements may have."""
    errors = more.pop("errors", "^$")
    record(root, more.pop("warehouse", str(root / "w")), more.pop("conf", {}), kind, seed, seconds, **more)
    history = operations(root / "logs")
    unexpected = [one.error for one in history if one.error and not re.search(errors, one.error)]
    assert unexpected == [], f"seed {seed}"
    assert anomalies(history) == [], f"seed {seed}"
    done = Counter(one.kind for one in history if one.outcome == "done")
    assert min(done[kind] for kind in ("insert", "update", "read")) >= seconds / 4, f"seed {seed}: {done}"


def test_short(tmp_path: Path, seed: int) -> None:
    check(tmp_path, "parts", seed, 1, processes=2, kills=0)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_killed(tmp_path: Path, seed: int, kind: str) -> None:
    check(tmp_path, kind, seed, 20, kills=6)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_without_retention(tmp_path: Path, seed: int, kind: str) -> None:
    """Files of earlier versions are deleted while other processes write."""
    conf = {"shark.table.retention": "0"}
    check(tmp_path, kind, seed, 10, kills=1, conf=conf, errors=r"version \d+ of default.t is not available")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")
    with running(MotoServer(tmp_path_factory.mktemp("moto")), BUCKET) as server:
        yield server


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_bucket_with_faults(server: S3Server, tmp_path: Path, seed: int, kind: str) -> None:
    """Each fault meets requests in a row: some statements try again, and others fail."""
    chance = random.Random(seed)
    faults: list[dict[str, Any]] = [{"status": 503, "code": "SlowDown"}, {"no_answer": True}, {"cut_answer": 20}]
    with fault_proxy(server.address) as proxy:
        for _ in range(20):
            skip, times = chance.randrange(50, 600), chance.randrange(1, 40)
            proxy.rules.append(Rule("GET|PUT", "/t/", skip=skip, times=times, **chance.choice(faults)))
        conf = {"shark.catalog.dir": str(tmp_path / "catalog"), **keys(proxy.address)}
        warehouse = f"s3://{BUCKET}/{uuid4().hex}"
        errors = "SQLSTATE (57P03|08006)"
        check(tmp_path, kind, seed, 20, kills=3, conf=conf, warehouse=warehouse, errors=errors)
        assert sum(rule.met > rule.skip for rule in proxy.rules) >= 5


def insert(begin: float, end: float, *rows: Row, outcome: str = "done") -> Operation:
    return Operation("insert", begin, end, outcome, rows)


def update(begin: float, end: float, key: int, outcome: str = "done") -> Operation:
    return Operation("update", begin, end, outcome, key=key)


def read(begin: float, end: float, *rows: Row, version: int | None = None) -> Operation:
    return Operation("read", begin, end, "done", rows, version=version)


A, B, C = (1, 10, 0), (2, 20, 0), (1, 30, 0)
A1, B1, C1 = (1, 10, 1), (2, 20, 1), (1, 30, 1)
BOTH = insert(0, 1, A, B)
GOOD = {
    "nothing": [],
    "reads at the time of an insert": [insert(0, 9, A), read(1, 2), read(3, 4, A), read(5, 6, A)],
    "reads at one time": [insert(0, 9, A), read(1, 4, A), read(2, 5), read(5, 6, A)],
    "an update and an insert at one time": [BOTH, insert(2, 5, C), update(2, 5, 1), read(6, 7, A1, B, C)],
    "an update after an insert": [BOTH, insert(2, 3, C), update(4, 5, 1), read(6, 7, A1, B, C1)],
    "a failed update": [BOTH, update(2, 3, 1, "failed"), read(4, 5, A, B)],
    "an unknown insert that comes late": [insert(0, inf, A, outcome="unknown"), read(1, 2), read(3, 4, A)],
    "an unknown update that comes late": [BOTH, update(2, inf, 2, "unknown"), read(3, 4, A, B), read(5, 6, A, B1)],
    "an earlier version": [BOTH, update(2, 3, 1), read(4, 5, A, B, version=1), read(4, 5, A1, B, version=2)],
}
ANOMALIES = {
    "lost insert": ([BOTH, insert(2, 3, C), read(4, 5, A, B)], "no rows of the INSERT at 2"),
    "partial insert": ([insert(0, 9, A, B), read(1, 2, A)], "1 of 2 rows of the INSERT at 0"),
    "duplicate row": ([BOTH, read(2, 3, A, A, B)], "duplicate rows"),
    "row of no insert": ([BOTH, read(2, 3, A, B, C)], "not inserted"),
    "row in another key": ([BOTH, read(2, 3, A, (1, 20, 0))], "not inserted"),
    "rows of a failed insert": ([insert(0, 1, A, outcome="failed"), read(2, 3, A)], "later or has failed"),
    "rows of a later insert": ([read(0, 1, A), insert(2, 3, A)], "later or has failed"),
    "read that goes back": ([insert(0, 9, A), read(1, 2, A), read(3, 4)], "less than an earlier read"),
    "update that goes back": (
        [BOTH, update(2, 9, 1), read(3, 4, A1, B), read(5, 6, A, B)],
        "less than an earlier read",
    ),
    "insert that comes after its end": (
        [insert(0, 1, A, outcome="unknown"), read(2, 3), read(4, 5, A)],
        "INSERT at 0: only some reads after its end",
    ),
    "stale read after a write": ([insert(0, 1, A), read(2, 3)], "no rows of the INSERT at 0"),
    "later insert without the earlier one": (
        [insert(0, 1, A), insert(2, 9, B), read(3, 4, B, version=1)],
        "no rows of the INSERT at 0",
    ),
    "two orders of inserts": (
        [insert(0, 9, A), insert(0, 9, B), read(1, 5, A), read(1, 5, B)],
        "only the smaller one has row",
    ),
    "two orders of an insert and an update": (
        [BOTH, insert(2, 9, C), update(2, 9, 2), read(3, 8, A, B1), read(3, 8, A, B, C)],
        "key 2 were updated [-1] times",
    ),
    "lost update": ([BOTH, update(2, 3, 1), read(4, 5, A, B)], "updated 0 times instead of 1 to 1"),
    "lost update of two": (
        [BOTH, update(2, 5, 1), update(2, 5, 1), read(6, 7, A1, B)],
        "updated 1 times instead of 2 to 2",
    ),
    "update without effect": ([BOTH, update(2, 3, 1, "failed"), read(4, 5, A1, B)], "updated 1 times instead of 0"),
    "update of a row that comes later": (
        [BOTH, update(2, 3, 1), insert(4, 5, C), read(6, 7, A1, B, C1)],
        "updated 1 times instead of 0 to 0",
    ),
    "update of some rows": (
        [BOTH, insert(2, 3, C), update(4, 9, 1), read(4, 5, A, B, C), read(6, 7, A1, B, C)],
        "key 1 were updated [0, 1] times",
    ),
    "version that changes": (
        [BOTH, insert(2, 9, C), read(3, 4, A, B, version=1), read(3, 4, A, B, C, version=1)],
        "version 1: less than version 1, or not equal",
    ),
    "later version with less": (
        [BOTH, insert(2, 9, C), read(3, 4, A, B, version=2), read(3, 4, A, B, C, version=1)],
        "version 2: less than version 1",
    ),
}


@pytest.mark.parametrize("name", GOOD)
def test_no_anomaly(name: str) -> None:
    assert anomalies(GOOD[name]) == []


@pytest.mark.parametrize("name", ANOMALIES)
def test_anomaly(name: str) -> None:
    history, message = ANOMALIES[name]
    found = anomalies(history)
    assert any(message in one for one in found), found
