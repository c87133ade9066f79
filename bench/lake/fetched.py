"""Bytes that queries over Parquet files in a bucket fetch, against those of the column chunks that they need.

A proxy before the server counts the bytes of all answers: footers and lists are among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq

from bench.lake.bucket import BUCKET, Bucket, make_tables, s3_bucket, settings_for
from bench.lake.sides import session
from bench.pde import Figure
from bench.suites import SUITES
from tests.storage.fault_proxy import fault_proxy

MOST = 1.1
COLUMNS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "1": {
        "lineitem": (
            *("l_returnflag", "l_linestatus", "l_quantity", "l_extendedprice", "l_discount", "l_tax"),
            "l_shipdate",
        )
    },
    "3": {
        "customer": ("c_custkey", "c_mktsegment"),
        "orders": ("o_orderkey", "o_custkey", "o_orderdate", "o_shippriority"),
        "lineitem": ("l_orderkey", "l_extendedprice", "l_discount", "l_shipdate"),
    },
    "6": {"lineitem": ("l_shipdate", "l_discount", "l_quantity", "l_extendedprice")},
    "14": {
        "lineitem": ("l_partkey", "l_extendedprice", "l_discount", "l_shipdate"),
        "part": ("p_partkey", "p_type"),
    },
}
"""Columns that queries of TPC-H need."""


def measure(runs: int, scale: float = 1.0) -> list[Figure]:  # noqa: ARG001  as of all
    suite = SUITES["tpch"]
    data = suite.data(scale)
    queries = suite.queries()
    with s3_bucket() as bucket:
        bucket.put_folders(data)
        return measured(bucket, data, {name: queries[name] for name in COLUMNS})


def measured(bucket: Bucket, data: Path, queries: Mapping[str, str]) -> list[Figure]:
    figures = []
    for name, sql in queries.items():
        needed = sum(_chunk_bytes(data / table, columns) for table, columns in COLUMNS[name].items())
        with fault_proxy(bucket.address) as proxy, session(settings_for(proxy.address)) as context:
            make_tables(context, data, f"s3a://{BUCKET}")
            proxy.seen.clear()
            context.sql(sql).to_arrow()
            sent, requests = proxy.sent, len(proxy.seen)
        text = f"{sent / needed:.3f} times: {sent:,} bytes by {requests} requests, for {needed:,} of chunks"
        figures.append(Figure(f"query {name}", text, f"at most {MOST:g} times", sent <= MOST * needed))
    return figures


def _chunk_bytes(folder: Path, columns: tuple[str, ...]) -> int:
    total = 0
    for path in folder.glob("*.parquet"):
        metadata = pq.read_metadata(path)
        groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
        chunks = (group.column(number) for group in groups for number in range(group.num_columns))
        total += sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema in columns)
    return total
