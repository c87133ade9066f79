"""Table of SQLSTATEs: each that the code has is there, and no other."""

from __future__ import annotations

import re
from pathlib import Path

from sharkpy.base.errors import SQLSTATES

_ROOT = Path(__file__).parents[2]
_FOLDERS = ("sharkpy", "columnar", "optimizer", "udf", "thrift")
_NO_STATES = {"10000", "20480"}
"""Numbers of five digits that are options."""


def test_the_table_has_what_the_code_has() -> None:
    found = set()
    for path in (path for folder in _FOLDERS for path in (_ROOT / folder).rglob("*.py")):
        if path.name != "sqlstates.py":
            found |= set(re.findall(r'"([0-9A-Z]{5})"', path.read_text(encoding="utf-8")))
    states = {one for one in found if re.match(r"\d|HY|F0|XX", one)} - _NO_STATES
    assert states == set(SQLSTATES)


def test_each_meaning_is_a_sentence() -> None:
    assert list(SQLSTATES) == sorted(SQLSTATES)
    assert [text for text in SQLSTATES.values() if not text.endswith(".")] == []
