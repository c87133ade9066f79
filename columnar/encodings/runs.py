"""Encodings of repeated values: constant and run_length.

- constant: one value for all rows, or only nulls.
- run_length: the lengths of runs of equal values, with one value per run.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa

from sharkpy.columnar import arrow_buffers
from sharkpy.columnar.domain import Domain
from sharkpy.columnar.encoded_column import Codec, Decoded, DictionaryForm, EncodedColumn, ScanForm
from sharkpy.columnar.encodings import uncompressed
from sharkpy.columnar.profile import ColumnProfile, build_dictionary
from sharkpy.values import types as t

_CONSTANT = "constant"


def _is_constant(profile: ColumnProfile) -> bool:
    if profile.num_valid == 0:
        return True
    if profile.domain is Domain.NONE:
        return False
    if profile.integers is not None:
        return profile.integers.low == profile.integers.high
    if profile.domain is Domain.BYTES and profile.null_count:
        return False
    return profile.sample_distinct == 1 and profile.dictionary is not None and len(profile.dictionary[1]) == 1


def _estimate_constant(profile: ColumnProfile) -> float | None:
    return 1.0 if _is_constant(profile) else None


def _encode_constant(profile: ColumnProfile) -> EncodedColumn | None:
    if not _is_constant(profile):
        return None
    if profile.num_valid == 0:
        return EncodedColumn(_CONSTANT, profile.dtype, profile.num_rows)
    value = uncompressed.encode_array(profile.filled.slice(0, 1), profile.dtype)
    return EncodedColumn(
        _CONSTANT,
        profile.dtype,
        profile.num_rows,
        parts=arrow_buffers.validity_part(profile.array),
        children={"value": value},
    )


def _coded(column: EncodedColumn) -> pa.DictionaryArray[Any, Any]:
    value = uncompressed.PLAIN.decode(column.children["value"])
    codes = np.zeros(column.num_rows, np.uint8)
    indices = pa.Array.from_buffers(pa.uint8(), column.num_rows, [column.validity, arrow_buffers.buffer_of(codes)])
    return pa.DictionaryArray.from_arrays(indices, value)


def _decode_constant(column: EncodedColumn) -> pa.Array[Any]:
    if "value" not in column.children:
        nulls: pa.Array[Any] = pa.nulls(column.num_rows, cast("Any", t.to_arrow(column.dtype)))
        return nulls
    coded = _coded(column)
    return coded.dictionary.take(coded.indices)


def _scan_form_constant(column: EncodedColumn) -> ScanForm:
    if "value" in column.children and t.is_string(column.dtype):
        return DictionaryForm(_coded(column))
    return Decoded(_decode_constant(column))


CONSTANT = Codec(_CONSTANT, _estimate_constant, _encode_constant, _decode_constant, _scan_form_constant)


_RUN_LENGTH = "run_length"
# Runs are expanded before DuckDB scans them, as values or as codes: there have to be few runs.
_RUN_LENGTH_WEIGHT = 4.0


def _estimate_run_length(profile: ColumnProfile) -> float | None:
    if profile.num_rows < 2 or profile.num_valid == 0:
        return None
    if profile.integers is not None:
        width = int(profile.array.type.bit_width // 8)
        return _RUN_LENGTH_WEIGHT * profile.integers.runs * (4 + width)
    if (keys := _keys(profile, forced=False)) is None:
        return None
    runs = int(np.count_nonzero(keys[1:] != keys[:-1])) + 1
    return _RUN_LENGTH_WEIGHT * runs * (4 + profile.plain_bytes / profile.num_rows)


def _keys(profile: ColumnProfile, forced: bool) -> arrow_buffers.Array | None:
    """Return numbers that are equal for equal neighbours, or None if the column does not look like runs."""
    if profile.integers is not None:
        return profile.integers.values
    if profile.domain is Domain.FLOAT:
        return arrow_buffers.view(profile.physical, f"i{profile.physical.type.bit_width // 8}")
    if profile.domain is Domain.NONE or profile.dtype == t.BOOLEAN:
        return None
    found = profile.dictionary or (build_dictionary(profile.physical) if forced else None)
    return found[0] if found else None


def _encode_run_length(profile: ColumnProfile) -> EncodedColumn | None:
    if profile.num_valid == 0 or (keys := _keys(profile, forced=True)) is None:
        return None
    starts = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(keys[1:] != keys[:-1]) + 1])
    lengths = np.diff(np.append(starts, profile.num_rows)).astype(np.uint32)
    values = uncompressed.encode_array(profile.filled.take(arrow_buffers.part(starts)), profile.dtype)
    return EncodedColumn(
        _RUN_LENGTH,
        profile.dtype,
        profile.num_rows,
        parts=profile.validity() | {"lengths": arrow_buffers.part(lengths)},
        children={"values": values},
    )


def _decode_run_length(column: EncodedColumn) -> pa.Array[Any]:
    values = uncompressed.PLAIN.decode(column.children["values"])
    return values.take(_repeated(np.arange(len(values), dtype=np.uint32), column))


def _repeated(per_run: arrow_buffers.Array, column: EncodedColumn) -> pa.Array[Any]:
    """Expand one number per run to one per row, with the column's nulls."""
    rows = np.repeat(per_run, arrow_buffers.numpy(column.parts["lengths"]))
    kind = pa.from_numpy_dtype(rows.dtype)
    return pa.Array.from_buffers(kind, column.num_rows, [column.validity, arrow_buffers.buffer_of(rows)])


def _scan_form_run_length(column: EncodedColumn) -> ScanForm:
    """Return strings as codes of the runs' distinct values. Numbers are expanded, which is as fast to scan.

    Arrow's run-end encoded arrays do not support `take` and have no nulls of their own. DuckDB groups by codes several
    times faster than by runs.
    """
    if not t.is_string(column.dtype):
        return Decoded(_decode_run_length(column))
    coded = uncompressed.PLAIN.decode(column.children["values"]).dictionary_encode()
    kind = np.min_scalar_type(len(coded.dictionary) - 1)
    codes = np.asarray(coded.indices).astype(kind)
    return DictionaryForm(pa.DictionaryArray.from_arrays(_repeated(codes, column), coded.dictionary))


RUN_LENGTH = Codec(_RUN_LENGTH, _estimate_run_length, _encode_run_length, _decode_run_length, _scan_form_run_length)
