"""Modules that a new process does not import to answer a query over a table in memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_CREATE = (
    "CREATE TABLE t TBLPROPERTIES ('shark.cache' = 'MEMORY') AS SELECT id, id % 9 AS k FROM range(200000) AS r (id)"
)
_QUERY = "SELECT k, count(*) FROM t WHERE id > 5 GROUP BY k"
_OTHERS = (
    "SELECT count(*), sum(t.id) FROM t JOIN (SELECT id AS n FROM t WHERE id < 3000 AND k = 1) s ON t.id = s.n",
    "SELECT sum(t.id), max(s.k) FROM t LEFT JOIN t AS s ON t.id = s.id + 7 WHERE s.id IS NULL OR t.k > 3",
    "SELECT id FROM t WHERE k = 4 ORDER BY id DESC LIMIT 3",
    "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY k ORDER BY id) AS r FROM t) x WHERE r < 3",
    "SELECT count(*) FROM t WHERE id LIKE '%77%' AND k < 5",
)
"""Queries of other shapes. Each runs twice, since a repeated one runs by another way."""
_NOT_NEEDED = (
    "configparser",
    "numba",
    "pandas",
    "pyarrow.parquet",
    "pyspark",
    "sharkpy.execution.commands.insert",
    "sharkpy.sources.avro",
    "sharkpy.sources.csv_files.source",
    "sharkpy.sources.parquet",
    "sharkpy.sql.incremental.divide_query",
    "sharkpy.sql.statements.commands",
    "sharkpy.streaming",
    "xml.etree.ElementTree",
)


def test_a_query_of_a_table_in_memory_imports_no_formats_and_no_other_statements(tmp_path: Path) -> None:
    _run(tmp_path, f'ctx.sql("""{_CREATE}""").close()')
    query = f'assert len(ctx.sql("{_QUERY}").to_arrow()) == 9'
    # The first query may make the blocks of the table again.
    _run(tmp_path, query)
    assert _run(tmp_path, f"{query}; print([one for one in {_NOT_NEEDED} if one in sys.modules])").strip() == "[]"
    others = f"print([len(ctx.sql(one).to_arrow()) for one in {_OTHERS * 2}], 'pandas' in sys.modules)"
    assert _run(tmp_path, others).strip() == f"{[1, 1, 3, 18, 1] * 2} False"


def _run(warehouse: Path, program: str) -> str:
    text = f"import sys, sharkpy\nwith sharkpy.connect(warehouse={str(warehouse)!r}) as ctx: {program}"
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout
