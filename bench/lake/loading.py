"""Loading lineitem into memory: from Parquet files in a server of S3 on loopback, and from local ones, each time by a
process that has read nothing yet.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

from bench.figure import Figure, comparison
from bench.lake.bucket import BUCKET, Bucket, make_tables, s3_bucket
from bench.lake.sides import Side, run_side, session
from bench.suites import SUITES

MOST = 1.3
TABLE = "lineitem"


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    data = SUITES["tpch"].data(scale)
    with s3_bucket() as bucket:
        bucket.put_folders(data)
        return measured(bucket, data, TABLE, runs)


def measured(bucket: Bucket, data: Path, table: str, runs: int) -> list[Figure]:
    """Figures of loading one of the tables of `data`, which is in the bucket."""
    arguments = {"address": bucket.address, "data": str(data), "table": table}
    far, near = (
        statistics.median(run_side("loading", "sharkpy", {**arguments, "place": place})["seconds"] for _ in range(runs))
        for place in (f"s3a://{BUCKET}", str(data))
    )
    aims = (f"at most {MOST:g} times", far <= MOST * near)
    return [comparison(f"{table} of a bucket into memory", "s", far, {"local files": near}, *aims, is_key=True)]


def _sharkpy(arguments: dict[str, Any]) -> dict[str, Any]:
    with session(Bucket(arguments["address"]).settings) as context:
        make_tables(context, Path(arguments["data"]), arguments["place"])
        _ = context.engine.jobs  # Spark is up before loading is timed
        start = time.perf_counter()
        context.sql(f"CACHE TABLE {arguments['table']}").close()
        seconds = time.perf_counter() - start
        count = context.sql(f"SELECT count(*) FROM {arguments['table']}").fetchall()[0][0]
    return {"seconds": seconds, "rows": count}


SIDES: dict[str, Side] = {"sharkpy": _sharkpy}
