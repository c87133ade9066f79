"""Data of the Big Data Benchmark (Pavlo et al. 2009, AMPLab 2014), seeded: scale 1 is 6 M pages and 5 M visits.

Scale 3 has the 18 M pages of AMPLab's smallest cluster, with 15 M visits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

PAGES, VISITS, BATCH = 6_000_000, 5_000_000, 500_000
FIRST_DAY, LAST_DAY = np.datetime64("1970-01-01"), np.datetime64("2012-12-31")
RANK_EXPONENT = 1.72
"""Exponent of ranks, which gives the shares of pages that queries 1A to 1C select: about 0.04 %, 2 % and all."""


def write_bigdata(folder: Path, scale: float) -> None:
    pages, visits = max(int(PAGES * scale), 100), max(int(VISITS * scale), 1000)
    urls = page_urls(pages)
    write_batches(folder / "rankings" / "rankings.parquet", _rankings(urls))
    write_batches(folder / "uservisits" / "uservisits.parquet", _uservisits(urls, visits))


def page_urls(pages: int) -> pa.Array:
    rng = np.random.default_rng(1)
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
    parts = []
    for start in range(0, pages, BATCH):
        size = min(BATCH, pages - start)
        names = pa.py_buffer(letters[rng.integers(0, 26, (size, 40), dtype=np.uint8)])
        fixed = pa.FixedSizeBinaryArray.from_buffers(pa.binary(40), size, [None, names])
        numbers = pa.array(np.arange(start, start + size)).cast(pa.string())
        parts.append(pc.binary_join_element_wise(fixed.cast(pa.binary()).cast(pa.string()), numbers, "-"))
    return pa.concat_arrays(parts)


def _rankings(urls: pa.Array) -> Iterator[pa.Table]:
    rng = np.random.default_rng(2)
    for start in range(0, len(urls), BATCH):
        batch = urls.slice(start, BATCH)
        ranks = (10 * rng.random(len(batch)) ** (-1 / RANK_EXPONENT)).clip(max=1_000_000).astype(np.int32)
        durations = rng.integers(1, 100, len(batch), dtype=np.int32)
        yield pa.table({"pageURL": batch, "pageRank": ranks, "avgDuration": durations})


def _uservisits(urls: pa.Array, visits: int) -> Iterator[pa.Table]:
    rng = np.random.default_rng(3)
    words = _words(rng, 5000)
    agents = pa.array([f"Mozilla/5.0 (agent {number}; rv:{number % 17}.0) Gecko" for number in range(400)])
    countries = pa.array([f"{chr(65 + i // 26)}{chr(65 + i % 26)}A" for i in range(200)])
    languages = pa.array([f"{chr(97 + i // 26)}{chr(97 + i % 26)}-{chr(65 + i % 26)}A" for i in range(120)])
    days = int((LAST_DAY - FIRST_DAY).astype(int))
    for start in range(0, visits, BATCH):
        size = min(BATCH, visits - start)
        octets = [pa.array(rng.integers(1, 255, size, dtype=np.uint8)).cast(pa.string()) for _ in range(4)]
        yield pa.table(
            {
                "sourceIP": pc.binary_join_element_wise(*octets, "."),
                "destURL": urls.take(pa.array(rng.integers(0, len(urls), size))),
                "visitDate": pa.array((FIRST_DAY + rng.integers(0, days, size)).astype("datetime64[D]")),
                "adRevenue": rng.random(size, dtype=np.float32),
                "userAgent": agents.take(pa.array(rng.integers(0, len(agents), size))),
                "countryCode": countries.take(pa.array(rng.integers(0, len(countries), size))),
                "languageCode": languages.take(pa.array(rng.integers(0, len(languages), size))),
                "searchWord": words.take(pa.array(rng.integers(0, len(words), size))),
                "duration": rng.integers(1, 1000, size, dtype=np.int32),
            }
        )


def _words(rng: np.random.Generator, count: int) -> pa.Array:
    letters = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz", np.uint8)
    return pa.array(letters[rng.integers(0, 26, (count, 8))].view("S8").ravel()).cast(pa.string())


def write_batches(path: Path, tables: Iterator[pa.Table]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    first = next(tables)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for table in tables:
            writer.write_table(table)
