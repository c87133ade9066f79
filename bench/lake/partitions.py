"""A table of 100,000 objects in 5,000 Hive partitions: found by MSCK REPAIR TABLE, and listed for a query of all of
them, and for one that reads a single partition.

The objects are in a real server, which is near and lists folder by folder. A second server lists by name and takes a
tenth of a second for a page, as Amazon's storage does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from bench.figure import Figure
from bench.lake.bucket import BUCKET, s3_bucket, settings_for
from bench.lake.sides import session
from sharkpy.sources.storage import buckets
from tests.storage.fault_proxy import fault_proxy
from tests.storage.listing_server import ListingServer

OBJECTS, PARTITIONS, MOST = 100_000, 5_000, 5.0
_PAGE_SECONDS = 0.1


def measure(runs: int, scale: float = 1.0) -> list[Figure]:
    objects, partitions = int(OBJECTS * scale), max(int(PARTITIONS * scale), 1)
    keys = [f"t/p={number % partitions}/{number:06d}" for number in range(objects)]
    with s3_bucket() as bucket:
        bucket.put_many(dict.fromkeys(keys, b"1\n"))
        with fault_proxy(bucket.address) as proxy:
            near = _measured(bucket.address, objects, runs, "")
            with session(settings_for(proxy.address)) as context:
                _made(context)
                proxy.seen.clear()
                context.sql("SELECT count(*) FROM t WHERE p = 1").fetchall()
                lists, inside = (proxy.count("GET", f"list-type.*{prefix}") for prefix in ("", "prefix=t%2Fp%3D1%2F"))
    with _by_name(keys) as address:
        far = _measured(address, objects, runs, ", a page of 0.1 s")
    text = f"{lists}, {inside} of them of its folder"
    return [*near, Figure("lists for one partition", text, "1 of its folder", lists == inside == 1), *far]


@contextmanager
def _by_name(keys: list[str]) -> Iterator[str]:
    server = ListingServer(BUCKET, keys, _PAGE_SECONDS)
    try:
        with patch.object(buckets, "_UNSORTED", buckets._SORTED):
            yield server.address
    finally:
        server.close()


def _measured(address: str, objects: int, runs: int, where: str) -> list[Figure]:
    repairs, lists = [], []
    for _ in range(runs):
        with session(settings_for(address)) as context:
            repairs.append(_seconds(lambda: _made(context)))
            lists.append(_seconds(lambda: context.sql("EXPLAIN SELECT count(*) FROM t").fetchall()))
    return [
        Figure(f"MSCK REPAIR TABLE{where}", f"{min(repairs):.2f} s"),
        Figure(
            f"{objects:,} objects listed, and the query over them planned{where}",
            f"{min(lists):.2f} s",
            f"at most {MOST:g} s",
            min(lists) <= MOST,
            is_key=True,
        ),
    ]


def _made(context: Any) -> None:
    context.sql(f"CREATE EXTERNAL TABLE t (k INT) PARTITIONED BY (p INT) LOCATION 's3a://{BUCKET}/t'").close()
    context.sql("MSCK REPAIR TABLE t").close()


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start
