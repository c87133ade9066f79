"""Answers that are kept up to date while rows arrive steadily: time from a file's arrival until another connection sees
an answer with its rows, at 20,000 rows a second.
"""

from __future__ import annotations

import itertools
import multiprocessing
import statistics
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import duckdb

from bench.figure import Figure
from bench.server.servers import sharkpy_server
from bench.streaming import arrivals
from bench.streaming.events import COLUMNS, events
from bench.streaming.workloads import ADVERTISERS, WORKLOADS
from bench.suites import CACHE

RATE = 20_000
SECONDS = 15.0
MOST_P50, MOST_P99 = 20, 60
_WARM_UP = 3.0
_EVENTS = 3_000_000
_KEY = ("ads", "stream_join")
_GAINS = {
    "ads": ("sum(n)", "count(*) FILTER (WHERE event_type = 'view')"),
    "sliding": ("sum(s)", "60 * sum(user_id)"),
    "totals": ("sum(n)", "count(*)"),
    "sessions": ("sum(n)", "count(*)"),
    "stream_join": ("count(*)", ""),
}
"""Aggregate of the answer that a client reads and that grows with each row, and the growth by the rows of a file. The
growth is empty for pairs, which are counted for the later one of their files.
"""
_PAIRS = """
SELECT greatest(v.file, c.file) AS file, count(*) AS gain FROM sent v JOIN sent c
ON v.user_id = c.user_id AND c.event_time >= v.event_time AND c.event_time < v.event_time + INTERVAL 10 SECOND
WHERE v.event_type = 'view' AND c.event_type = 'click' GROUP BY ALL
"""


def measure(runs: int, scale: float = 1.0) -> list[Figure]:  # noqa: ARG001  one run has hundreds of files
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, context) as pool:
        return [_measured(pool, name, max(1.0, SECONDS * scale)) for name in WORKLOADS]


def _measured(pool: ProcessPoolExecutor, name: str, seconds: float) -> Figure:
    columns = ", ".join(f"{column} {dtype}" for column, dtype in COLUMNS.items())
    asked, gain = _GAINS[name]
    with tempfile.TemporaryDirectory(dir=CACHE) as folder, sharkpy_server() as server:
        target = Path(folder, "in")
        target.mkdir()
        for stream in ("events", "events2"):
            marked = f"{columns}, WATERMARK FOR event_time AS event_time"
            server.run(f"CREATE STREAM {stream} ({marked}) STORED AS JSONFILE FROM FOLDER '{target}'")
        campaigns = ", ".join(map(str, duckdb.sql(ADVERTISERS).fetchall()))
        server.run(
            "CREATE TABLE campaigns (campaign_id BIGINT, advertiser BIGINT)",
            f"INSERT INTO campaigns VALUES {campaigns}",
            "CREATE CONTINUOUS TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') WITH UNBOUNDED STATE AS "
            + WORKLOADS[name].query,
        )
        paths = _files(Path(folder, "waiting"), seconds + _WARM_UP)
        ends = _ends(Path(folder, "waiting"), gain)
        warm = int(_WARM_UP / arrivals.INTERVAL_SECONDS)
        found = list[float]()
        for part in (slice(0, warm), slice(warm, None)):
            prepared = arrivals.Prepared(tuple(paths[part]), tuple(ends[part]))
            moving = pool.submit(arrivals.arrive, prepared, str(target))
            seen = arrivals.watch(server, prepared.ends[-1], query=f"SELECT {asked} FROM t")
            found = arrivals.latencies(prepared, moving.result(), seen)
        # A file that lets nothing grow is seen before it comes.
        grows = [end > before for before, end in itertools.pairwise(ends[warm - 1 :])]
        waited = [one * 1000 for one, is_seen in zip(found, grows, strict=True) if is_seen]
    half, p99 = statistics.median(waited), statistics.quantiles(waited, n=100, method="inclusive")[98]
    wanted = f"p50 at most {MOST_P50}, p99 {MOST_P99} ms"
    value = f"p50 {half:.1f} ms, p99 {p99:.1f} ms"
    is_met = half <= MOST_P50 and p99 <= MOST_P99
    return Figure(f"{name}, {RATE:,} rows/s, visible after", value, wanted, is_met, is_key=name in _KEY)


def _files(folder: Path, seconds: float) -> list[Path]:
    """Files in a folder next to the stream's; each has the rows of one interval."""
    folder.mkdir()
    lines, rows = _lines(), int(RATE * arrivals.INTERVAL_SECONDS)
    paths = []
    for number in range(int(seconds / arrivals.INTERVAL_SECONDS)):
        paths.append(folder / f"{number:06}.json")
        paths[-1].write_text("".join(itertools.islice(lines, rows)))
    return paths


def _lines() -> Iterator[str]:
    for path in sorted(events("json", _EVENTS).glob("*.json")):
        with path.open() as file:
            yield from file


def _ends(folder: Path, gain: str) -> list[int]:
    """Values that a client sees when the rows of each file are in the answer."""
    types = ", ".join(f"{name}: '{dtype.replace('STRING', 'VARCHAR')}'" for name, dtype in COLUMNS.items())
    files = f"read_json('{folder}/*.json', format = 'newline_delimited', columns = {{{types}}}, filename = true)"
    with duckdb.connect() as connection:
        number = "CAST(parse_filename(filename, true) AS INT)"
        connection.execute(f"CREATE TABLE sent AS SELECT *, {number} AS file FROM {files}")
        counted = f"SELECT file, {gain} AS gain FROM sent GROUP BY file" if gain else _PAIRS
        total = "sum(coalesce(gain, 0)) OVER (ORDER BY file)"
        text = (
            f"SELECT CAST({total} AS BIGINT) FROM (SELECT DISTINCT file FROM sent) LEFT JOIN ({counted}) USING (file)"
        )
        return [value for (value,) in connection.execute(f"{text} ORDER BY file").fetchall()]
