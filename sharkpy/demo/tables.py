"""Tables of the tour: external tables over its files, cached in the memory store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.demo.flights_data import TEXT_TABLES

if TYPE_CHECKING:
    from sharkpy.session.shark_context import SharkContext

COLUMNS = {
    "flights": (
        "year INT, month INT, day INT, dep_time INT, sched_dep_time INT, dep_delay INT, arr_time INT, "
        "sched_arr_time INT, arr_delay INT, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING, "
        "air_time INT, distance INT, hour INT, minute INT, time_hour TIMESTAMP"
    ),
    "airports": ("faa STRING, name STRING, lat DOUBLE, lon DOUBLE, alt INT, tz INT, dst STRING, tzone STRING"),
    "airlines": "carrier STRING, name STRING",
    "planes": (
        "tailnum STRING, year INT, type STRING, manufacturer STRING, model STRING, engines INT, seats INT, speed INT, "
        "engine STRING"
    ),
    "weather": (
        "origin STRING, year INT, month INT, day INT, hour INT, temp DOUBLE, dewp DOUBLE, humid DOUBLE, wind_dir INT, "
        "wind_speed DOUBLE, wind_gust DOUBLE, precip DOUBLE, pressure DOUBLE, visib DOUBLE, time_hour TIMESTAMP"
    ),
}


def create_statement(name: str, folder: Path) -> str:
    form = "STORED AS PARQUET"
    if name in TEXT_TABLES:
        form = "ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' STORED AS TEXTFILE"
    return (
        f"CREATE EXTERNAL TABLE IF NOT EXISTS {name} ({COLUMNS[name]})\n{form}\n"
        f"LOCATION '{folder / name}'\nTBLPROPERTIES ('shark.cache' = 'MEMORY')"
    )


def create_tables(session: SharkContext, folder: Path) -> None:
    for name in COLUMNS:
        session.sql(create_statement(name, folder)).close()


def memory_figures(session: SharkContext, folder: Path) -> list[tuple[str, int, int, int, int]]:
    """Return (table, rows, blocks, bytes of its files, bytes in the store) of each table. Load tables that are not in
    memory.
    """
    figures = []
    for name in COLUMNS:
        version = session.table_cache.version(session.catalog.table("default", name))
        if version is None:
            continue
        raw = sum(path.stat().st_size for path in (folder / name).iterdir())
        encoded = sum(handle.size_bytes for handle in version.blocks)
        figures.append((name, version.statistics.count(), len(version.blocks), raw, encoded))
    return figures
