"""Hive's Java functions as user functions: UDF and GenericUDF, UDAF and GenericUDAFResolver, GenericUDTF."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from sharkpy.base.cached_property import cached_property
from sharkpy.base.errors import BindError, InternalError, TypeMismatchError
from sharkpy.base.records import dataclass
from sharkpy.udf.function import AggregateFunction, NullPolicy, ScalarFunction, TableFunction
from sharkpy.udf.java.columns import java_type
from sharkpy.udf.java.jvm import java_errors, jvm
from sharkpy.udf.lower import DISTINCT, OVER
from sharkpy.udf.signatures import anything
from sharkpy.udf.user.function import (
    Column,
    Constants,
    FunctionUse,
    Routine,
    Shipped,
    Types,
    UserFunction,
    constant_values,
    make_key,
    routine_name,
)
from sharkpy.udf.user.scalar import DUMMY
from sharkpy.udf.user.table import TableCalls, TableRows
from sharkpy.values.type_parser import parse_type
from sharkpy.values.types import INT, ArrayType, DataType, StructType

any_types = anything()


@dataclass(frozen=True)
class JavaFunction(Shipped):
    """A Java class by name, from `jars` or Hive. `home` is the Java of the settings."""

    name: str
    class_name: str
    jars: tuple[str, ...] = ()
    home: str = ""
    is_deterministic: bool = True
    doc: str = ""

    @cached_property
    def key(self) -> str:
        return make_key(
            self.name, type(self).__name__, self.class_name, self.is_deterministic, *map(_stamped, self.jars)
        )

    def found_class(self) -> Any:
        return jvm(self.home).find_class(self.class_name, self.jars)

    def facts(self) -> Sequence[str]:
        return (f"Function class:{self.class_name}", *(f"Resource:{jar}" for jar in self.jars))

    def _typed(self, make: Callable[[Types, Constants], Any], types: Types, constants: Constants = ()) -> DataType:
        """Return the result type that Java computes for the arguments. Raise its refusal as TypeMismatchError."""
        with java_errors(self.name, TypeMismatchError, "42804"):
            return parse_type(str(make(types, constants).resultType()))

    def _signature(self, types: Types, constants: Constants) -> tuple[Any, Any]:
        """Return String[] of types and Object[] of constants."""
        import jpype

        names = jpype.JArray(jpype.JString)([java_type(dtype) for dtype in types])
        values = jpype.JArray(jpype.JObject)(len(types))
        for index, (value, dtype) in enumerate(zip(constants, types, strict=False)):
            if value is not None:
                values[index] = jvm(self.home).columns.constant(value, dtype)
        return names, values


@dataclass(frozen=True)
class JavaScalar(JavaFunction):
    """org.apache.hadoop.hive.ql.exec.UDF or GenericUDF."""

    @cached_property
    def row(self) -> ScalarFunction:
        return ScalarFunction(
            self.key,
            any_types,
            lambda types: self._typed(self._made, types),
            self._lowered,
            NullPolicy.CUSTOM,
            self.is_deterministic,
            doc=self.doc,
            literal_result=lambda types, values: self._typed(self._made, types, _constants(values)),
        )

    def _lowered(self, args: Sequence[str], types: Types, _result: DataType) -> str:
        name = routine_name(self.key, "call", types, constant_values(args))
        return f"{name}({', '.join(args) or DUMMY})"

    def routines(self, use: FunctionUse) -> Sequence[Routine]:
        calls = _PerThread(lambda: self._made(use.types, use.constants))

        def run(columns: Sequence[Column], num_rows: int) -> Column:
            java = jvm(self.home).columns
            with java_errors(self.name):
                taken = [java.to_java(column, dtype) for column, dtype in zip(columns, use.types, strict=False)]
                return java.from_java(calls.get().evaluate(java.table(taken), num_rows), use.result)

        name = routine_name(self.key, "call", use.types, use.constants)
        return (Routine(name, use.types or (INT,), use.result, run, self.is_deterministic),)

    def _made(self, types: Types, constants: Constants = ()) -> Any:
        return jvm(self.home).scalar(self.name, self.found_class(), *self._signature(types, constants))


@dataclass(frozen=True)
class JavaAggregate(JavaFunction):
    """UDAF or GenericUDAFResolver: all rows of a group are in one task."""

    @cached_property
    def row(self) -> AggregateFunction:
        return AggregateFunction(
            self.key,
            any_types,
            lambda types: self._typed(self._made, types),
            self._lowered,
            doc=self.doc,
            literal_result=lambda types, values: self._typed(self._made, types, _constants(values)),
        )

    def _lowered(self, args: Sequence[str], types: Types, _result: DataType) -> str:
        values = ", ".join(f"a{index} := {arg}" for index, arg in enumerate(args))
        row = f"struct_pack({values})" if args else DUMMY
        name = routine_name(self.key, "complete", types, constant_values(args))
        return f"{name}(list({DISTINCT}{row}){OVER})"

    def routines(self, use: FunctionUse) -> Sequence[Routine]:
        types = use.types
        names = tuple(f"a{index}" for index in range(len(types)))
        rows = ArrayType(StructType(names, types) if types else INT)
        calls = _PerThread(lambda: self._made(types, use.constants))

        def run(columns: Sequence[Column], _num_rows: int) -> Column:
            java, lists = jvm(self.home).columns, columns[0]
            ends = np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))
            fields = lists.flatten().flatten() if types else []
            with java_errors(self.name):
                taken = [java.to_java(column, dtype) for column, dtype in zip(fields, types, strict=True)]
                return java.from_java(calls.get().evaluate(java.table(taken), java.ints(ends)), use.result)

        return (Routine(routine_name(self.key, "complete", types, use.constants), (rows,), use.result, run),)

    def _made(self, types: Types, constants: Constants = ()) -> Any:
        return jvm(self.home).aggregate(self.found_class(), *self._signature(types, constants), False)


@dataclass(frozen=True)
class JavaTable(JavaFunction):
    """GenericUDTF."""

    @cached_property
    def row(self) -> TableFunction:
        return TableFunction(
            self.key,
            any_types,
            lambda types: self._columns(types, ()),
            None,
            literal_columns=lambda types, values: self._columns(types, _constants(values)),
        )

    def _columns(self, types: Types, constants: Constants) -> Sequence[tuple[str, DataType]]:
        found = self._typed(self._made, types, constants)
        if not isinstance(found, StructType):
            raise InternalError(f"{self.class_name} yields {found}")
        return tuple(zip(found.names, found.types, strict=True))

    def routines(self, use: FunctionUse) -> Sequence[Routine]:  # noqa: ARG002
        """Return no routines: it runs between two queries of its stage."""
        return ()

    @property
    def has_last_rows(self) -> bool:
        """True: `close` of any class may forward rows."""
        return True

    def calls(self, use: FunctionUse) -> TableCalls:
        with java_errors(self.name):
            return JavaTableCalls(self, self._made(use.types, use.constants), use)

    def _made(self, types: Types, constants: Constants = ()) -> Any:
        return jvm(self.home).table(self.found_class(), *self._signature(types, constants))


class JavaTableCalls:
    """A running GenericUDTF in one task."""

    def __init__(self, function: JavaTable, made: Any, use: FunctionUse) -> None:
        self._function, self._made, self._use = function, made, use

    def rows(self, columns: Sequence[Column], num_rows: int) -> TableRows:
        java = jvm(self._function.home).columns
        with java_errors(self._function.name):
            taken = [java.to_java(column, dtype) for column, dtype in zip(columns, self._use.types, strict=True)]
            counts = np.asarray(self._made.process(java.table(taken), num_rows))
            return TableRows(counts, self._taken())

    def last_rows(self) -> list[Column]:
        with java_errors(self._function.name):
            self._made.close()
            return self._taken()

    def _taken(self) -> list[Column]:
        made: Column = jvm(self._function.home).columns.from_java(self._made.taken(), self._use.result)
        return list(made.flatten())


class _PerThread:
    """One object per thread, since Hive's functions keep state between rows."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._local = threading.local()

    def get(self) -> Any:
        if not hasattr(self._local, "made"):
            self._local.made = self._make()
        return self._local.made


def _constants(values: Sequence[object]) -> Constants:
    known = (None if isinstance(value, bool) else value for value in values)
    return tuple(
        Decimal(repr(value)) if isinstance(value, float) else value if isinstance(value, (str, int, Decimal)) else None
        for value in known
    )


def _stamped(jar: str) -> str:
    """Identify a version of a JAR: a rewritten one is different."""
    try:
        found = Path(jar).stat()
    except OSError:
        return jar
    return f"{jar} {found.st_size} {found.st_mtime_ns}"


_KINDS: tuple[tuple[str, type[JavaFunction]], ...] = (
    ("org.apache.hadoop.hive.ql.exec.UDF", JavaScalar),
    ("org.apache.hadoop.hive.ql.udf.generic.GenericUDF", JavaScalar),
    ("org.apache.hadoop.hive.ql.exec.UDAF", JavaAggregate),
    ("org.apache.hadoop.hive.ql.udf.generic.GenericUDAFResolver", JavaAggregate),
    ("org.apache.hadoop.hive.ql.udf.generic.GenericUDTF", JavaTable),
)
"""Hive's base class -> the kind of function that calls it."""


def java_function(name: str, class_name: str, jars: tuple[str, ...], home: str) -> UserFunction:
    """Return the function of a Java class. Raise BindError if it is not one of Hive's kinds."""
    machine = jvm(home)
    with java_errors(name, BindError, "42883"):
        found = machine.find_class(class_name, jars)
    for base, kind in _KINDS:
        if machine.find_class(base, ()).isAssignableFrom(found):
            made = kind(name, class_name, jars, home)
            _check(made, found)
            is_random = kind is JavaScalar and not _is_deterministic(found)
            return kind(name, class_name, jars, home, False) if is_random else made  # type: ignore[return-value]
    raise BindError(
        f'function "{name}": "{class_name}" is none of Hive\'s functions',
        hint="it must extend UDF, GenericUDF, UDAF, AbstractGenericUDAFResolver or GenericUDTF",
    )


def _check(function: JavaFunction, found: Any) -> None:
    if jvm(function.home).find_class(_KINDS[0][0], ()).isAssignableFrom(found):
        methods = {str(method.getName()) for method in found.getMethods()}
        if "evaluate" not in methods:
            raise BindError(f'function "{function.name}": class "{function.class_name}" has no method evaluate')


def _is_deterministic(found: Any) -> bool:
    """Return whether the class is deterministic by Hive's annotation UDFType."""
    import jpype

    marks = jpype.JClass("org.apache.hadoop.hive.ql.udf.UDFType")
    mark = found.getAnnotation(marks.class_)
    return mark is None or (bool(mark.deterministic()) and not bool(mark.stateful()))
