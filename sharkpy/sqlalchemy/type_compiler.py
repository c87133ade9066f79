"""Compiler of SQLAlchemy's types to HiveQL."""

from __future__ import annotations

from typing import Any, NoReturn

from sqlalchemy import types as sqltypes
from sqlalchemy.exc import CompileError
from sqlalchemy.sql.compiler import GenericTypeCompiler

from sharkpy.sqlalchemy.types import ARRAY, MAP, STRUCT

_FLOAT_BITS = 24
"""Binary digits of a FLOAT: a type that asks for more is a DOUBLE."""
_ANY_DECIMAL = "DECIMAL(38,10)"
"""DECIMAL without a given precision: plain DECIMAL would have no digits after the point."""


class SharkTypeCompiler(GenericTypeCompiler):
    def visit_INTEGER(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802 - as overridden, here and below
        return "INT"

    def visit_TINYINT(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802
        return "TINYINT"

    def visit_float(self, type_: sqltypes.Float[Any], **kw: Any) -> str:  # noqa: ARG002
        return "FLOAT" if type_.precision is not None and type_.precision <= _FLOAT_BITS else "DOUBLE"

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802
        return "FLOAT"

    visit_REAL = visit_FLOAT  # noqa: N815

    def visit_DOUBLE(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802
        return "DOUBLE"

    visit_DOUBLE_PRECISION = visit_DOUBLE  # noqa: N815

    def visit_NUMERIC(self, type_: sqltypes.Numeric[Any], **kw: Any) -> str:  # noqa: ARG002, N802
        if type_.precision is None:
            return _ANY_DECIMAL
        return f"DECIMAL({type_.precision},{type_.scale or 0})"

    visit_DECIMAL = visit_NUMERIC  # noqa: N815

    def visit_STRING(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802
        return "STRING"

    visit_TEXT = visit_STRING  # noqa: N815
    visit_CLOB = visit_STRING  # noqa: N815
    visit_JSON = visit_STRING  # noqa: N815

    def visit_VARCHAR(self, type_: sqltypes.String, **kw: Any) -> str:  # noqa: ARG002, N802
        return f"VARCHAR({type_.length})" if type_.length else "STRING"

    visit_NVARCHAR = visit_VARCHAR  # noqa: N815

    def visit_CHAR(self, type_: sqltypes.String, **kw: Any) -> str:  # noqa: ARG002, N802
        return f"CHAR({type_.length or 1})"

    visit_NCHAR = visit_CHAR  # noqa: N815

    def visit_BINARY(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802
        return "BINARY"

    visit_VARBINARY = visit_BINARY  # noqa: N815
    visit_BLOB = visit_BINARY  # noqa: N815

    def visit_TIMESTAMP(self, type_: Any, **kw: Any) -> str:  # noqa: ARG002, N802
        return "TIMESTAMP"

    visit_DATETIME = visit_TIMESTAMP  # noqa: N815

    def visit_TIME(self, type_: Any, **kw: Any) -> NoReturn:  # noqa: ARG002, N802
        raise CompileError("TIME: HiveQL has no time of day without a date")

    def visit_ARRAY(self, type_: ARRAY | sqltypes.ARRAY[Any], **kw: Any) -> str:  # noqa: N802
        if isinstance(type_, ARRAY):
            return f"ARRAY<{self.process(type_.element, **kw)}>"
        levels = type_.dimensions or 1
        return "ARRAY<" * levels + self.process(type_.item_type, **kw) + ">" * levels

    def visit_MAP(self, type_: MAP, **kw: Any) -> str:  # noqa: N802
        return f"MAP<{self.process(type_.key, **kw)},{self.process(type_.value, **kw)}>"

    def visit_STRUCT(self, type_: STRUCT, **kw: Any) -> str:  # noqa: N802
        return "STRUCT<" + ",".join(f"{name}:{self.process(dtype, **kw)}" for name, dtype in type_.fields) + ">"
