"""Names of the package `sharkpy` are imported when they are first used."""

from __future__ import annotations

import subprocess
import sys

_CODE = """
import sys, sharkpy
assert not {"sharkpy.errors", "sharkpy.session", "duckdb", "pyarrow"} & set(sys.modules)
assert issubclass(sharkpy.errors.ParseError, sharkpy.SharkError)
"""


def test_errors_need_no_import_of_their_own() -> None:
    subprocess.run([sys.executable, "-c", _CODE], check=True, timeout=60)
