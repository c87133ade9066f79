"""Ad events: made once, as JSON lines and as Parquet."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import duckdb

from bench.suites import CACHE

EVENTS = int(os.environ.get("SHARKPY_EVENTS", "20000000"))
"""Events of a backlog."""
FILES = 40
FORM_NAMES = {"json": "JSON", "parquet": "Parquet"}
COLUMNS = {
    "user_id": "BIGINT",
    "page_id": "BIGINT",
    "campaign_id": "BIGINT",
    "ad_type": "STRING",
    "event_type": "STRING",
    "event_time": "TIMESTAMP",
    "ip": "STRING",
}
CHECKS = ("count(*)", "sum(user_id)", "sum(campaign_id)", "min(event_time)", "max(event_time)", "count(DISTINCT ip)")
"""Aggregates for which all engines must have the same answer."""
_ROWS = """
SELECT (hash(i) % 1000000)::BIGINT AS user_id,
  (hash(i + 1) % 100000)::BIGINT AS page_id, (hash(i + 2) % 1000)::BIGINT AS campaign_id,
  ['banner', 'modal', 'sponsored-search', 'mail', 'mobile'][1 + (hash(i + 3) % 5)::BIGINT] AS ad_type,
  ['view', 'click', 'purchase'][1 + (hash(i + 4) % 3)::BIGINT] AS event_type,
  {time} AS event_time,
  concat_ws('.', 10, (hash(i + 5) % 4)::BIGINT, (hash(i + 5) % 253)::BIGINT, (hash(i + 6) % 251)::BIGINT) AS ip
FROM range({start}, {end}) t(i)
"""
_TIME = "TIMESTAMP '2026-01-01 00:00:00' + to_microseconds(i * 500)"


def events(form: str, rows: int) -> Path:
    """Folder of so many events in a format, `json` or `parquet`."""
    folder = CACHE / f"events-{rows}-{form}"
    if not (folder / ".done").exists():
        print(f"making {rows:,} events as {form}", file=sys.stderr)
        folder.mkdir(parents=True, exist_ok=True)
        with duckdb.connect() as connection:
            for number in range(FILES):
                connection.execute(_copy(number, rows, folder, form))
        (folder / ".done").touch()
    return folder


def _copy(number: int, rows: int, folder: Path, form: str) -> str:
    start, end = rows * number // FILES, rows * (number + 1) // FILES
    time = f"strftime({_TIME}, '%Y-%m-%d %H:%M:%S.%g')" if form == "json" else _TIME
    return (
        f"COPY ({_ROWS.format(time=time, start=start, end=end)}) TO '{folder}/part-{number:03}.{form}' (FORMAT {form})"
    )
