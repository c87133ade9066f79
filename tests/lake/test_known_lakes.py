"""Formats of lake tables whose packages are not there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import ConfigurationError


@pytest.mark.parametrize(("name", "package"), [("iceberg", "pyiceberg"), ("delta", "deltalake")])
def test_the_extra_is_named(name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = f"sharkpy.sources.lake.{name}"
    for module in [one for one in sys.modules if one.startswith((f"{package}.", ours))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with sharkpy.connect(warehouse=tmp_path) as context:
        for statement in (f"CREATE TABLE t (a INT) STORED BY {name}", f"SELECT * FROM {name}.`{tmp_path}`"):
            with pytest.raises(ConfigurationError, match=f"need the package {package}") as caught:
                context.sql(statement)
            assert caught.value.sqlstate == "F0000"
            assert f"sharkpy[{name}]" in str(caught.value.hint)
