"""Every function of the registry is called in a statement of some .slt file."""

from __future__ import annotations

import re

from sharkpy.udf import registry
from tests.slt.records import ROOT

# fmt: off
OPERATORS = frozenset(
    (
        "mod", "div", "and", "or", "not", "in", "between", "like", "rlike", "case", "when",
    )
)
# fmt: on
"""Functions that SQL writes as operators."""


def test_every_function_is_called() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in ROOT.rglob("*.slt")).lower()
    called = set(re.findall(r"\b(\w+)\s*\(", text)) | set(re.findall(r"\b(current_\w+)\b", text))
    signs = {name for name in registry.names() if not re.fullmatch(r"\w+", name)}
    unlisted = {row.name for row in registry.built_in() if not row.is_listed}
    assert [name for name in registry.names() if name not in called | OPERATORS | unlisted | signs] == []
