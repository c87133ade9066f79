"""Collection of .slt files: each is one test per engine or configuration that it runs on.

A file runs on sharkpy, under one forced configuration (of every other file in the driver, else as RDD tasks), and on
the oracles that have not confirmed it as it is. With --all every file runs under several configurations, and most files
over a bucket, too. The commit decides which configurations a file gets, so that each file meets all of them in time.
"""

from __future__ import annotations

import functools
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from zlib import crc32

import pytest

from tests.slt.bucket_engine import BucketEngine
from tests.slt.configurations import PLAIN_PLANS, SKEWED, all_pairs
from tests.slt.confirmed import ORACLES, is_confirmed
from tests.slt.engines import Engine, SharkEngine, SparkEngine, _owner
from tests.slt.runner import run_file
from tests.storage.s3_servers import SeaweedServer


@functools.cache
def _delete_at_once() -> None:
    """Retain no dropped tables: a worker drops thousands, whose names later files use again."""
    _owner().sql("SET shark.table.retention=0").close()


def pytest_runtest_setup() -> None:
    _delete_at_once()


BROAD = "broad"
"""Folder of files that take types and functions one by one: in `make test` no configuration is forced on them."""
SKEWED_FILES = ("skewed_keys", "semi_anti", "outer", "skewed_distinct")
"""Files that `make test` runs with every key dealt over several tasks."""
PLAIN_PLAN_FILES = (
    *("semi_anti", "outer", "lateral", "exists", "in", "nested", "scalar", "from"),
    *("intersect_except", "ranking", "order_limit", "ctes"),
)
"""Files that run without the rules of the optimizer that can be excluded too."""
BUCKET_FILES = ("dml/insert", "dml/overwrite", "dml/row_changes", "ddl/ctas", "ddl/databases", "partitions/inserts")
"""Files that `make test` runs over a warehouse in a bucket."""
LOCAL_FILES = ("ddl/alter_storage", "formats/defaults", "formats/virtual_columns", "partitions/definitions")
"""Files that show names of local files, or move Hive partitions, which storage cannot: not run over a bucket."""
FORCED = 4
"""Configurations that `make test-all` forces on a file, other ones on other files: each comes to dozens of files."""
_EXCHANGE = re.compile(
    r"\b(?:JOIN|GROUP\s+BY|DISTINCT|OVER|EXISTS|UNION|INTERSECT|EXCEPT|MINUS)\b|\bIN\s*\(\s*SELECT\b", re.IGNORECASE
)
"""Clauses that deal rows by key: files without one are not run with every key dealt over several tasks."""
MANY_ROWS = 10_000
"""Rows of the tables of many_rows.slt: blocks of a row or two would not test more."""


class SltItem(pytest.Item):
    def __init__(self, *, engine: Callable[[], Engine], **kwargs: object) -> None:
        super().__init__(**kwargs)  # type: ignore[arg-type]
        self._engine = engine

    def runtest(self) -> None:
        run_file(self.path, self._engine())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> object:
        if isinstance(excinfo.value, AssertionError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name


class SltFile(pytest.File):
    def collect(self) -> Iterator[SltItem]:
        run_all = self.config.getoption("--all")
        number = crc32(self.path.name.encode())
        chosen = all_pairs()
        is_broad = BROAD in self.path.parts
        if run_all:
            number += _commit()
            chosen = [chosen[(number + step * len(chosen) // FORCED) % len(chosen)] for step in range(FORCED)]
        elif is_broad:
            chosen = []
        else:
            placed = [one for one in chosen if one.on_driver is bool(number % 2)]
            chosen = [placed[number // 2 % len(placed)]]
        if self.path.stem in SKEWED_FILES or (run_all and _EXCHANGE.search(self.path.read_text(encoding="utf-8"))):
            chosen = [*chosen, SKEWED]
        if self.path.stem in PLAIN_PLAN_FILES:
            chosen = [*chosen, PLAIN_PLANS]
        yield SltItem.from_parent(self, name="sharkpy", engine=SharkEngine)
        if self.path.stem == "many_rows":
            chosen = [configuration.in_blocks_of(MANY_ROWS) for configuration in chosen]
        for configuration in chosen:
            item = SltItem.from_parent(
                self,
                name=configuration.name,
                engine=lambda c=configuration: SharkEngine(c.conf, cached=c.cached),
            )
            if not configuration.on_driver:
                item.add_marker(pytest.mark.spark)
            yield item
        place = f"{self.path.parent.name}/{self.path.stem}"
        in_bucket = place in BUCKET_FILES or (run_all and not is_broad and place not in LOCAL_FILES)
        if in_bucket and SeaweedServer.program() is not None:
            yield SltItem.from_parent(self, name="warehouse=bucket", engine=BucketEngine)
        for oracle in ORACLES:
            if not is_confirmed(self.path, oracle.name):
                item = SltItem.from_parent(self, name=oracle.name, engine=oracle)
                item.add_marker(pytest.mark.oracle)
                if oracle is SparkEngine:
                    item.add_marker(pytest.mark.spark)
                yield item


@functools.cache
def _commit() -> int:
    """Number that changes with each commit, the same in every worker of a run; 0 outside a clone."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=8", "HEAD"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return int(found.stdout.strip()[:8], 16) if found.returncode == 0 else 0


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SltFile | None:
    if file_path.suffix == ".slt" and file_path.parent.name != "shared":
        return SltFile.from_parent(parent, path=file_path)
    return None
