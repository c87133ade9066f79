"""xxhash64, Spark's 64-bit hash, of each argument in turn. The previous hash is the seed of the next one."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import xxhash

from sharkpy.base.errors import UnsupportedError
from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.signatures import Types, anything, returns
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    NULL,
    SMALLINT,
    TIMESTAMP,
    TINYINT,
    DataType,
    DecimalType,
    is_string,
)

_SEED = 42


def hash_bytes(data: bytes, seed: int) -> int:
    value = xxhash.xxh64_intdigest(data, seed & (1 << 64) - 1)
    return value - (1 << 64) if value >> 63 else value


def hash_integer(value: int, width: int, seed: int) -> int:
    return hash_bytes(value.to_bytes(width, "little", signed=True), seed)


def hash_double(value: float, width: int, seed: int) -> int:
    """Hash the bits as Java has them: a single NaN, and 0.0 for -0.0."""
    plain = float("nan") if math.isnan(value) else value + 0.0
    return hash_bytes(struct.pack("<f" if width == 4 else "<d", plain), seed)


def _one(sql: str, dtype: DataType, seed: str) -> str:
    if is_string(dtype):
        return f"shark_xxhash(encode({sql}), {seed})"
    if dtype == BINARY:
        return f"shark_xxhash({sql}, {seed})"
    if dtype in (BOOLEAN, TINYINT, SMALLINT, INT):
        return f"shark_xxhash_integer(CAST({sql} AS BIGINT), 4, {seed})"
    if dtype == DATE:
        return f"shark_xxhash_integer(CAST({sql} - DATE '1970-01-01' AS BIGINT), 4, {seed})"
    if dtype == BIGINT:
        return f"shark_xxhash_integer({sql}, 8, {seed})"
    if dtype == TIMESTAMP:
        return f"shark_xxhash_integer(epoch_us({sql}), 8, {seed})"
    if dtype in (FLOAT, DOUBLE):
        return f"shark_xxhash_double(CAST({sql} AS DOUBLE), {4 if dtype == FLOAT else 8}, {seed})"
    if isinstance(dtype, DecimalType) and dtype.precision <= 18:
        return f"shark_xxhash_integer(CAST({sql} * 1{'0' * dtype.scale} AS BIGINT), 8, {seed})"
    raise UnsupportedError(f"xxhash64 of {dtype}")


def _xxhash64(args: Sequence[str], types: Types, _result: DataType) -> str:
    # The kernels return the seed for NULL, so the previous hash is written once.
    found = f"CAST({_SEED} AS BIGINT)"
    for sql, dtype in zip(args, types, strict=True):
        if dtype != NULL:
            found = _one(sql, dtype, found)
    return found


XXHASH64 = ScalarFunction(
    "xxhash64",
    anything(1),
    returns(BIGINT),
    _xxhash64,
    NullPolicy.CUSTOM,
    usage="xxhash64(x, …)",
    doc="the hash of the arguments in 64 bits, as Spark computes it",
    example="xxhash64('abc', 1)",
    answer="615990704253164077",
)
