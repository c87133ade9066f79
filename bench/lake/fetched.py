"""Bytes that queries over Parquet files in a bucket fetch, against the bytes of the column chunks that they need.

A proxy before the server counts the bytes of all answers: footers and lists are among them. A query needs the columns
that it names, each once however many times it scans their table; chunks that statistics leave out are none of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq

from bench.figure import Figure, comparison
from bench.lake.bucket import BUCKET, Bucket, make_tables, s3_bucket, settings_for
from bench.lake.sides import session
from bench.suites import SUITES
from tests.storage.fault_proxy import fault_proxy

MOST = 1.1


def measure(runs: int, scale: float = 1.0) -> list[Figure]:  # noqa: ARG001  as of all
    suite = SUITES["tpch"]
    data = suite.data(scale)
    with s3_bucket() as bucket:
        bucket.put_folders(data)
        return measured(bucket, data, suite.queries())


def measured(bucket: Bucket, data: Path, queries: Mapping[str, str]) -> list[Figure]:
    """Figures of queries over `data`, which is in the bucket. No name is a column of two tables."""
    figures, all_sent, all_needed = list[Figure](), 0, 0
    for name, sql in queries.items():
        needed = sum(_chunk_bytes(path, named(sql)) for path in data.glob("*/*.parquet"))
        # Another proxy is another endpoint: nothing that was fetched through the last one is kept for it.
        with fault_proxy(bucket.address) as proxy, session(settings_for(proxy.address)) as context:
            make_tables(context, data, f"s3a://{BUCKET}")
            proxy.seen.clear()
            context.sql(sql).to_arrow()
            sent, requests = proxy.sent, len(proxy.seen)
        all_sent, all_needed = all_sent + sent, all_needed + needed
        figures += [_figure(f"query {name}", sent, needed), Figure(f"query {name}: requests", str(requests))]
    return [*figures, _figure(f"fetched by {len(queries)} queries", all_sent, all_needed, is_key=True)]


def _figure(what: str, sent: int, needed: int, *, is_key: bool = False) -> Figure:
    aims = (f"at most {MOST:g} times", sent <= MOST * needed)
    return comparison(what, "bytes", sent, {"column chunks needed": needed}, *aims, is_key=is_key)


def named(sql: str) -> set[str]:
    """Words of a query, the names of its columns among them."""
    return set(re.findall(r"\w+", sql.lower()))


def _chunk_bytes(path: Path, columns: set[str]) -> int:
    metadata = pq.read_metadata(path)
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    chunks = (group.column(number) for group in groups for number in range(group.num_columns))
    return sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema in columns)
