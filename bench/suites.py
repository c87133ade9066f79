"""Benchmarks: their tables, data and queries."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.bigdata_data import write_bigdata
from bench.h2o_data import write_h2o
from bench.hits_data import write_hits
from bench.ssb_data import write_ssb
from bench.tpcds_texts import tpcds_texts

ROOT = Path(__file__).parent
CACHE = ROOT.parent / "build" / "bench"


@dataclass(frozen=True, slots=True)
class Rate:
    """Rate in rows of `tables` a second and core, for the queries whose names start with `prefix`.

    `shark` is the million rows that the original Shark reached (AMPLab's Big Data Benchmark, 2014, in memory).
    """

    prefix: str
    tables: tuple[str, ...]
    shark: float | None = None


@dataclass(frozen=True, slots=True)
class Suite:
    """Benchmark suite. `tables` is in the order of loading; each has a folder of Parquet files under the suite's data
    folder. `texts` gives the queries if they are not files of this folder; it may keep them in a folder.
    """

    name: str
    tables: tuple[str, ...]
    make_data: Callable[[Path, float], None]
    rates: tuple[Rate, ...] = ()
    texts: Callable[[Path], dict[str, str]] | None = None

    def data(self, scale: float) -> Path:
        """Folder of the data at `scale`, made if it is missing."""
        folder = CACHE / f"{self.name}-{scale:g}"
        done = folder / ".done"
        if not done.exists():
            print(f"making {self.name} data at scale {scale:g}", file=sys.stderr)
            folder.mkdir(parents=True, exist_ok=True)
            self.make_data(folder, scale)
            done.touch()
        return folder

    def queries(self, wanted: str | None = None) -> dict[str, str]:
        """Text of queries by name ("1", "2A", "1.1"), in order."""
        texts = texts_in(ROOT / "queries" / self.name) if self.texts is None else self.texts(CACHE)
        return {name: sql for name, sql in texts.items() if wanted is None or name.lower() in wanted.lower().split(",")}


def texts_in(folder: Path) -> dict[str, str]:
    """Texts of the queries in a folder, by name, in order."""
    paths = sorted(folder.glob("q*.sql"))
    return {path.stem.removeprefix("q").lstrip("0"): path.read_text("utf-8").strip().rstrip(";") for path in paths}


def _write_tpc(benchmark: str, folder: Path, scale: float) -> None:
    tool = Path(sys.executable).parent / "tpcgen-cli"
    command = [str(tool) if tool.exists() else tool.name, benchmark, "parquet", "-s", f"{scale:g}", "--parts=1"]
    subprocess.run([*command, f"--output-dir={folder}", "--overwrite"], check=True, stdout=subprocess.DEVNULL)


SUITES = {
    "tpch": Suite(
        "tpch",
        ("region", "nation", "supplier", "customer", "part", "partsupp", "orders", "lineitem"),
        partial(_write_tpc, "tpch"),
    ),
    "tpcds": Suite(
        "tpcds",
        (
            *("call_center", "catalog_page", "customer", "customer_address", "customer_demographics", "date_dim"),
            *("household_demographics", "income_band", "item", "promotion", "reason", "ship_mode", "store", "time_dim"),
            *("warehouse", "web_page", "web_site", "inventory", "store_sales", "store_returns", "catalog_sales"),
            *("catalog_returns", "web_sales", "web_returns"),
        ),
        partial(_write_tpc, "tpcds"),
        texts=tpcds_texts,
    ),
    "bigdata": Suite(
        "bigdata",
        ("rankings", "uservisits"),
        write_bigdata,
        (
            Rate("1", ("rankings",), 1.3),
            Rate("2", ("uservisits",), 0.23),
            Rate("3", ("rankings", "uservisits")),
        ),
    ),
    "clickbench": Suite("clickbench", ("hits",), write_hits),
    "h2o": Suite("h2o", ("x", "small", "medium", "big"), write_h2o),
    "ssb": Suite("ssb", ("date", "customer", "supplier", "part", "lineorder"), write_ssb),
}
