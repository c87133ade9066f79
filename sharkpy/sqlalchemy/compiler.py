"""Compilers of SQLAlchemy's statements and types to HiveQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from sqlalchemy import types as sqltypes
from sqlalchemy.exc import CompileError
from sqlalchemy.schema import CheckConstraint, Column, Table
from sqlalchemy.sql.compiler import DDLCompiler, GenericTypeCompiler, IdentifierPreparer, SQLCompiler
from sqlalchemy.types import String, TypeEngine

from sharkpy.sql.parameters import literal
from sharkpy.sqlalchemy.types import ARRAY, MAP, STRUCT


class SharkIdentifierPreparer(IdentifierPreparer):
    """Preparer that puts every name in backticks: any name may be a keyword of HiveQL."""

    def __init__(self, dialect: Any) -> None:
        super().__init__(dialect, initial_quote="`")

    def _requires_quotes(self, value: str) -> bool:  # noqa: ARG002 - as overridden
        return True


class SharkCompiler(SQLCompiler):
    def render_literal_value(self, value: Any, type_: TypeEngine[Any]) -> str:
        """Render a value as it is bound."""
        if value is None:
            return super().render_literal_value(value, type_)
        process = type_._cached_bind_processor(self.dialect)
        text = literal(process(value) if process else value)
        return f" {text}" if text.startswith("-") else text

    def limit_clause(self, select: Any, **kw: Any) -> str:
        limit, offset = select._limit_clause, select._offset_clause
        text = "" if limit is None else f"\n LIMIT {self.process(limit, **kw)}"
        return text if offset is None else f"{text}\n OFFSET {self.process(offset, **kw)}"

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return f"{self.process(binary.left, **kw)} RLIKE {self.process(binary.right, **kw)}"

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"NOT ({self.visit_regexp_match_op_binary(binary, operator, **kw)})"

    def visit_regexp_replace_op_binary(self, binary: Any, operator: Any, **kw: Any) -> str:  # noqa: ARG002
        return f"regexp_replace({self.process(binary.left, **kw)}, {self.process(binary.right, **kw)})"


class SharkDDLCompiler(DDLCompiler):
    """Compiler of CREATE TABLE: columns and their comments, PARTITIONED BY for those made with
    `sharkpy_partition=True`, then `sharkpy_stored_as`, `sharkpy_location` and `sharkpy_properties` of the Table.
    """

    def visit_create_column(self, create: Any, first_pk: bool = False, **kw: Any) -> str | None:
        if create.element.dialect_options["sharkpy"]["partition"]:
            return None
        text: str | None = super().visit_create_column(create, first_pk, **kw)  # type: ignore[no-untyped-call]
        return text

    def get_column_specification(self, column: Column[Any], **kwargs: Any) -> str:  # noqa: ARG002 - as overridden
        for construct, value in (
            ("DEFAULT", column.server_default),
            ("GENERATED", column.computed),
            ("IDENTITY", column.identity),
        ):
            if value is not None:
                raise CompileError(f'{construct} of column "{column.name}": columns have no default values')
        dtype = self.dialect.type_compiler_instance.process(column.type, type_expression=column)
        return f"{self.preparer.format_column(column)} {dtype}{self._comment(column.comment)}"

    def create_table_constraints(self, table: Table, *_: Any, **__: Any) -> str:
        """Refuse CHECK, and leave out keys, which are declarations."""
        for constraint in table.constraints:
            if isinstance(constraint, CheckConstraint) and constraint._should_create_for_compiler(self):
                self.process(constraint)
        return ""

    def visit_check_constraint(self, constraint: CheckConstraint, **kw: Any) -> NoReturn:  # noqa: ARG002
        raise CompileError(f"CHECK ({constraint.sqltext}): tables have no constraints")

    visit_column_check_constraint = visit_check_constraint

    def post_create_table(self, table: Table) -> str:
        return "".join(f"\n{clause}" for clause in self._table_clauses(table))

    def _table_clauses(self, table: Table) -> Iterator[str]:
        options = table.dialect_options["sharkpy"]
        if table.comment:
            yield self._comment(table.comment).strip()
        partition = [column for column in table.columns if column.dialect_options["sharkpy"]["partition"]]
        if partition:
            yield f"PARTITIONED BY ({', '.join(map(self.get_column_specification, partition))})"
        if options["stored_as"]:
            yield f"STORED AS {options['stored_as']}"
        if options["location"]:
            yield f"LOCATION {self._text(options['location'])}"
        if options["properties"]:
            pairs = (f"{self._text(key)} = {self._text(value)}" for key, value in options["properties"].items())
            yield f"TBLPROPERTIES ({', '.join(pairs)})"

    def visit_create_index(self, create: Any, *_: Any, **__: Any) -> str:  # noqa: ARG002
        """Compile CREATE INDEX to an empty text, which the dialect does not run."""
        return ""

    def visit_drop_index(self, drop: Any, **kw: Any) -> str:  # noqa: ARG002
        return ""

    def _comment(self, comment: str | None) -> str:
        return f" COMMENT {self._text(comment)}" if comment else ""

    def _text(self, value: str) -> str:
        return self.sql_compiler.render_literal_value(value, String())


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
