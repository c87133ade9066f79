"""Functions of a program that the catalog keeps, by value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sharkpy
from sharkpy.base.errors import BindError, FunctionNotFoundError, UnsupportedError
from sharkpy.ml.rdd.table_rdd import TableRDD
from sharkpy.udf.user import python_code


def make(context: sharkpy.SharkContext, factor: float, *, again: bool = False) -> None:
    @sharkpy.function("double", returns="double")
    def times(x: np.ndarray) -> np.ndarray:
        "Product of x and the factor."
        return np.asarray(x) * factor

    context.create_function("times", times, replace=again)


def test_all_sessions_have_it(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make(context, 2)
        assert context.sql("SELECT times(4)").fetchall() == [(8.0,)]
        other = context.new_session()
        assert other.sql("SELECT default.times(4)").fetchall() == [(8.0,)]
        make(context, 3, again=True)
        assert other.sql("SELECT times(4)").fetchall() == [(12.0,)]
        with pytest.raises(BindError, match="already exists") as error:
            make(context, 4)
        assert error.value.sqlstate == "42723"
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        assert context.sql("SELECT times(4)").fetchall() == [(12.0,)]
        lines = [row[0] for row in context.sql("DESCRIBE FUNCTION EXTENDED times").fetchall()]
        assert lines[0] == "times - Product of x and the factor."
        assert "test_permanent_functions.py" in lines[-1]
        assert ("default.times",) in context.sql("SHOW FUNCTIONS LIKE 'default.*'").fetchall()
        context.sql("DROP FUNCTION times")
        with pytest.raises(FunctionNotFoundError):
            context.sql("SELECT times(4)")


def test_a_database_of_its_own(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        context.sql("CREATE DATABASE shop")
        context.create_function("shop.Twice", lambda x: x * 2, "bigint", ["bigint"])
        assert context.sql("SELECT shop.twice(21)").fetchall() == [(42,)]
        with pytest.raises(FunctionNotFoundError):
            context.sql("SELECT twice(21)")
        with pytest.raises(BindError, match="Database not found nowhere"):
            context.create_function("nowhere.f", lambda x: x, "bigint", ["bigint"])


def test_what_cannot_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(rows: TableRDD) -> TableRDD:
        return rows

    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        with pytest.raises(UnsupportedError, match="of whole tables"):
            context.create_function("whole", whole)
        large = np.zeros(python_code.MAX_FUNCTION_BYTES // 8 + 1)
        with pytest.raises(BindError, match="bytes with what it refers to"):
            context.create_function("large", lambda x: x + large[0], "double", ["double"])
        make(context, 2)
    monkeypatch.setattr(python_code, "_PYTHON_VERSION", "2.7")
    with sharkpy.connect("local[2]", tmp_path / "w") as context, pytest.raises(BindError, match="was made by Python"):
        context.sql("SELECT times(4)")


def test_code_that_cannot_be_read(tmp_path: Path) -> None:
    with sharkpy.connect("local[2]", tmp_path / "w") as context:
        make(context, 2)
        entry = context.catalog.functions.entry("default", "times")
        assert entry is not None
        broken = replace(entry, code=entry.code[:-5], function_id="another")
        context.catalog.functions.create(broken, replace=True)
        with pytest.raises(BindError, match="cannot be loaded") as error:
            context.sql("SELECT times(4)")
        assert "replace=True" in str(error.value.hint)
