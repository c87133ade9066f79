"""Hashes, types, identity of the session."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.errors import UnsupportedError
from sharkpy.types import (
    BIGINT,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_TYPES,
    NULL,
    STRING,
    TIMESTAMP,
    DataType,
    is_string,
)
from sharkpy.udf.casts import lower_cast, wrap_integer
from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.literals import quote_string
from sharkpy.udf.signatures import Types, anything, returns, takes


def _hash_of(sql: str, dtype: DataType) -> str:
    """Java's hashCode as Hive's ObjectInspectorUtils computes it; 0 for NULL."""
    if dtype == NULL:
        return "0"
    if dtype == BIGINT:
        value = f"shark_hash_bigint({sql})"
    elif dtype in INTEGER_TYPES:
        value = f"CAST({sql} AS INTEGER)"
    elif dtype == BOOLEAN:
        value = f"CASE WHEN {sql} THEN 1 WHEN NOT {sql} THEN 0 END"
    elif dtype == DATE:
        value = f"CAST({sql} - DATE '1970-01-01' AS INTEGER)"
    elif dtype in (FLOAT, DOUBLE):
        value = f"shark_hash_bigint(shark_double_bits(CAST({sql} AS DOUBLE)))"
    elif dtype == TIMESTAMP:
        value = f"shark_hash_bigint(epoch_us({sql}))"
    elif is_string(dtype) or str(dtype).startswith("decimal"):
        value = f"shark_java_hash({lower_cast(sql, dtype, STRING)})"
    else:
        raise UnsupportedError(f"hash of {dtype}")
    return f"coalesce({value}, 0)"


def _hash(args: Sequence[str], types: Types, _result: DataType) -> str:
    total = "0"
    for arg, dtype in zip(args, types, strict=True):
        value = _hash_of(arg, dtype)
        total = value if total == "0" else wrap_integer(f"(CAST({total} AS BIGINT) * 31 + {value})", INT)
    return total


def _current_user(_args: Sequence[str], _types: Types, _result: DataType) -> str:
    import getpass

    return quote_string(getpass.getuser())


def _typeof(_args: Sequence[str], types: Types, _result: DataType) -> str:
    return quote_string(str(types[0]))


MISC_FUNCTIONS = (
    ScalarFunction(
        "hash",
        anything(1),
        returns(INT),
        _hash,
        NullPolicy.CUSTOM,
        doc="Java's hash of the arguments, chained by 31",
        example="hash('abc', 1)",
    ),
    ScalarFunction(
        "typeof",
        anything(1, 1),
        returns(STRING),
        _typeof,
        NullPolicy.CUSTOM,
        doc="the name of the type",
        example="typeof(1)",
    ),
    ScalarFunction(
        "uuid",
        takes(),
        returns(STRING),
        "CAST(uuid() AS VARCHAR)",
        NullPolicy.CUSTOM,
        is_deterministic=False,
        doc="a random UUID",
        example="length(uuid())",
    ),
    ScalarFunction(
        "version", takes(), returns(STRING), "'3.1.3'", doc="the version of Hive that counts", example="version()"
    ),
    ScalarFunction(
        "current_user",
        takes(),
        returns(STRING),
        _current_user,
        NullPolicy.CUSTOM,
        doc="the name of the session's user",
        example="length(current_user()) > 0",
    ),
    ScalarFunction(
        "current_database",
        takes(),
        returns(STRING),
        "'default'",
        NullPolicy.CUSTOM,
        doc="the session's current database",
        example="length(current_database()) > 0",
    ),
)
