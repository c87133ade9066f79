"""The 99 queries of TPC-DS, as DuckDB's extension has them.

The extension is a package for one version of DuckDB. So both are installed in a folder next to the data, and asked in a
process of their own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_PACKAGES = ("duckdb==1.5.5", "duckdb-extension-tpcds==1.5.5")
_ASK = """
import json, sys
from pathlib import Path
import duckdb
connection = duckdb.connect()
(extension,) = Path(sys.argv[1], "duckdb_extension_tpcds").rglob("tpcds.duckdb_extension")
connection.execute(f"LOAD '{extension}'")
rows = connection.execute("SELECT query_nr, query FROM tpcds_queries() ORDER BY query_nr").fetchall()
Path(sys.argv[2]).write_text(json.dumps({str(number): text.strip().rstrip(";") for number, text in rows}))
"""


def tpcds_texts(cache: Path) -> dict[str, str]:
    """Return the texts by number. They are kept in the folder `cache`."""
    known = cache / "tpcds-texts.json"
    if not known.exists():
        packages = cache / "tpcds-texts"
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", f"--target={packages}"]
        subprocess.run([*install, *_PACKAGES], check=True)
        ask = [sys.executable, "-c", _ASK, str(packages), str(known)]
        subprocess.run(ask, check=True, env={"PYTHONPATH": str(packages)})
    found: dict[str, str] = json.loads(known.read_text(encoding="utf-8"))
    return found
