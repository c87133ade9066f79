"""Files of numbered rows that arrive in a folder at a given rate, and clients that see them in a continuous table."""

from __future__ import annotations

import shutil
import time
from bisect import bisect_left
from dataclasses import dataclass
from pathlib import Path

from bench.server.servers import Server

INTERVAL_SECONDS = 0.02
"""Time between two files."""
_LINE = b'{"sequence": %d, "user_id": %d, "url": "/shop/%d", "price": %d.5}\n'
STREAM = "CREATE STREAM incoming (sequence BIGINT, user_id BIGINT, url STRING, price DOUBLE) STORED AS JSONFILE"
TABLE = (
    "CREATE CONTINUOUS TABLE arrived TBLPROPERTIES ('shark.cache' = 'MEMORY') "
    "AS SELECT sequence, user_id, url, price FROM incoming WHERE price >= 0"
)
LAST = "SELECT max(sequence) FROM arrived"
_LONGEST_WAIT = 120.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """Files that wait in a folder next to the stream's. `ends`: the last number of each, in their order."""

    paths: tuple[Path, ...]
    ends: tuple[int, ...]


def prepare(folder: Path, first: int, rows_a_second: int, seconds: float) -> Prepared:
    """Write the files of a number of `seconds`; `first`: the first number."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = max(1, int(rows_a_second * INTERVAL_SECONDS))
    paths, ends = [], []
    for number in range(max(1, int(seconds / INTERVAL_SECONDS))):
        start = first + number * rows
        path = folder / f"{start:015}.json"
        path.write_bytes(b"".join(_LINE % (n, n % 10_007, n % 997, n % 100) for n in range(start, start + rows)))
        paths.append(path)
        ends.append(start + rows - 1)
    return Prepared(tuple(paths), tuple(ends))


def arrive(prepared: Prepared, folder: str) -> list[float]:
    """Move each file into the stream's folder at its time; returns these times, by the monotonic clock."""
    started = time.monotonic()
    moved = []
    for number, path in enumerate(prepared.paths):
        time.sleep(max(0.0, started + number * INTERVAL_SECONDS - time.monotonic()))
        moved.append(time.monotonic())
        path.rename(Path(folder, path.name))
    return moved


def arrive_at_once(prepared: Prepared, folder: str) -> None:
    for path in prepared.paths:
        shutil.move(path, folder)


def watch(server: Server, end: int, pause: float = 0.002, query: str = LAST) -> list[tuple[float, int]]:
    """Times at which a client that asks knew of higher numbers, and these, until it knows of `end`."""
    connection = server.connect()
    cursor = connection.cursor()
    seen: list[tuple[float, int]] = []
    until = time.monotonic() + _LONGEST_WAIT
    last = -1
    while last < end:
        if time.monotonic() > until:
            raise TimeoutError(f"row {end} is not there after {_LONGEST_WAIT:.0f} s: the last one is {last}")
        cursor.execute(query)
        found = cursor.fetchall()[0][0]
        if found is not None and found > last:
            last = found
            until = time.monotonic() + _LONGEST_WAIT
            seen.append((time.monotonic(), last))
        time.sleep(pause)
    connection.close()
    return seen


def latencies(prepared: Prepared, moved: list[float], seen: list[tuple[float, int]]) -> list[float]:
    """Seconds from each file's arrival until a client knew of its last row."""
    known = [last for _, last in seen]
    return [seen[bisect_left(known, end)][0] - arrived for end, arrived in zip(prepared.ends, moved, strict=True)]


def ask(server: Server, query: str, seconds: float, pause: float) -> list[float]:
    """Seconds of each answer to a client that asks, and waits for `pause` before it asks again."""
    connection = server.connect()
    cursor = connection.cursor()
    found = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        start = time.perf_counter()
        cursor.execute(query)
        cursor.fetchall()
        found.append(time.perf_counter() - start)
        time.sleep(pause)
    connection.close()
    return found


def check_all(server: Server, rows: int) -> None:
    """AssertionError unless the numbers from 0 are there, each one once."""
    connection = server.connect()
    cursor = connection.cursor()
    cursor.execute("SELECT count(*), count(DISTINCT sequence), max(sequence) FROM arrived")
    found = tuple(cursor.fetchall()[0])
    connection.close()
    if found != (rows, rows, rows - 1):
        raise AssertionError(f"{rows} rows have arrived, the table has (rows, different ones, last): {found}")
