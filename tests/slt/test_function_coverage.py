"""Every function of the registry is called in a statement of some .slt file."""

from __future__ import annotations

import re

from sharkpy.udf import registry
from tests.slt.records import ROOT

# fmt: off
OPERATORS = frozenset(
    (
        "add", "subtract", "multiply", "divide", "mod", "div", "negate", "eq", "ne", "lt", "le", "gt", "ge",
        "eq_null_safe", "and", "or", "not", "in", "between", "is_null", "is_not_null", "like", "rlike",
        "case_when", "bit_and", "bit_or", "bit_xor", "bit_not", "is_true", "is_false", "!", "~",
    )
)
# fmt: on
"""Rows that SQL writes as operators."""


def test_every_function_is_called() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.rglob("*.slt")).lower()
    called = set(re.findall(r"\b(\w+)\s*\(", text)) | set(re.findall(r"\b(current_\w+)\b", text))
    assert [name for name in registry.names() if name not in called | OPERATORS] == []
