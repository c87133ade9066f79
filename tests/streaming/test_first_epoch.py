"""Imports of the first epoch of a process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.streaming.folder_input import NUMBERS, put_numbers

FIRST = """
import sys, sharkpy
warehouse, stream = sys.argv[1:]
with sharkpy.connect("local[2]", warehouse) as context:
    context.sql(stream).close()
    context.sql(
        "CREATE CONTINUOUS TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') TRIGGER AVAILABLE NOW AS"
        " SELECT n, s, n % 2 = 0 AS even, n * 0.5D AS half, DATE '2026-01-01' AS d FROM numbers"
    ).close()
    assert len(context.table_cache.loaded_version(context.catalog.table("default", "t")).blocks) == 1
    print("pandas" in sys.modules)
"""


@pytest.mark.variants(2)
@pytest.mark.parametrize("rows", [5, 20_000])
def test_pandas_stays_outside(tmp_path: Path, rows: int) -> None:
    """Arrow imports it for whatever goes to or from NumPy by its own functions, which takes half a second."""
    put_numbers(tmp_path / "in", "1", range(rows))
    command = [sys.executable, "-c", FIRST, str(tmp_path / "w"), NUMBERS.format(tmp_path / "in", "")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
