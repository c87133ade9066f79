"""Figures of row sets: Arrow's columns encoded to the bytes of HiveServer2's answers, compared with thrift's compiled
codec.

`python -m bench.row_set_figures` prints them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TTransport import TMemoryBuffer

from sharkpy.thrift.bindings import ttypes
from sharkpy.thrift.row_sets import encode_row_set
from sharkpy.values import types as t

Row = dict[str, str | int | float]

ROWS = 100_000
REPEATS = 7
MICROS_PER_YEAR = 365 * 86_400_000_000
V5, V6 = 4, 5

_rng = np.random.default_rng(7)
_integers = pa.array(_rng.integers(-(1 << 40), 1 << 40, ROWS))
_amounts = pa.array(_rng.integers(0, 10_000_000, ROWS)).cast(pa.decimal128(38, 2))
COLUMNS: dict[str, tuple[t.DataType, pa.Array[Any]]] = {
    "bigint": (t.BIGINT, _integers),
    "double": (t.DOUBLE, pa.array(_rng.random(ROWS))),
    "float": (t.FLOAT, pa.array(_rng.random(ROWS).astype("f4"))),
    "string": (t.STRING, pa.array([f"value {number % 1000} of {number}" for number in range(ROWS)])),
    "decimal": (t.DecimalType(38, 2), _amounts),
    "date": (t.DATE, pa.array(_rng.integers(0, 20_000, ROWS).astype("i4")).cast(pa.date32())),
    "timestamp": (t.TIMESTAMP, pa.array(_rng.integers(0, 50 * MICROS_PER_YEAR, ROWS)).cast(pa.timestamp("us"))),
}
_MEMBERS: dict[t.DataType, tuple[str, type[Any]]] = {
    t.BIGINT: ("i64Val", ttypes.TI64Column),
    t.DOUBLE: ("doubleVal", ttypes.TDoubleColumn),
    t.FLOAT: ("doubleVal", ttypes.TDoubleColumn),
}


def run() -> list[Row]:
    """Nanoseconds for each value, by columns and by rows, and for the codec by columns."""
    return [_figures(name, dtype, column) for name, (dtype, column) in COLUMNS.items()]


def _figures(name: str, dtype: t.DataType, column: pa.Array[Any]) -> Row:
    schema = t.Schema((t.Field("c", dtype),))
    batch = pa.RecordBatch.from_arrays([column], ["c"])
    figures = {
        "ns per value": _nanoseconds(lambda: encode_row_set([batch], schema, 0, V6)),
        "by rows ns per value": _nanoseconds(lambda: encode_row_set([batch], schema, 0, V5)),
        "codec ns per value": _nanoseconds(lambda: _with_codec(column, dtype)),
    }
    times = figures["codec ns per value"] / figures["ns per value"]
    rounded = {key: round(value, 1) for key, value in figures.items()}
    return {"measure": "row set", "case": name, **rounded, "times faster": round(times, 1)}


def _with_codec(column: pa.Array[Any], dtype: t.DataType) -> bytes:
    """Encode as a server does that makes Python's values of the column."""
    member, kind = _MEMBERS.get(dtype, ("stringVal", ttypes.TStringColumn))
    values = column.to_numpy() if dtype == t.FLOAT else column.to_pylist()
    if dtype == t.FLOAT:
        values = [float(str(value)) for value in values]
    elif dtype not in (t.BIGINT, t.DOUBLE, t.STRING):
        values = [str(value) for value in values]
    row_set = ttypes.TRowSet(0, [], [ttypes.TColumn(**{member: kind(values, b"")})])
    transport = TMemoryBuffer()
    row_set.write(TBinaryProtocolAccelerated(transport))
    return bytes(transport.getvalue())


def _nanoseconds(work: Callable[[], object]) -> float:
    """Nanoseconds per row, the best of some runs."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times) * 1e9 / ROWS


def main() -> None:
    for row in run():
        print("  ".join(f"{key}={value}" for key, value in row.items()))


if __name__ == "__main__":
    main()
