"""run_length: the lengths of runs of equal values, with one value per run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sharkpy.columnar import parts
from sharkpy.columnar.domain import Domain
from sharkpy.columnar.encoded_column import Codec, Decoded, DictionaryForm, EncodedColumn, ScanForm
from sharkpy.columnar.encodings import plain
from sharkpy.columnar.profile import ColumnProfile, build_dictionary
from sharkpy.values import types as t

_NAME = "run_length"
# Runs are expanded before DuckDB scans them, as values or as codes: there have to be few runs.
_WEIGHT = 4.0


def _estimate(profile: ColumnProfile) -> float | None:
    if profile.num_rows < 2 or profile.num_valid == 0:
        return None
    if profile.integers is not None:
        width = int(profile.array.type.bit_width // 8)
        return _WEIGHT * profile.integers.runs * (4 + width)
    if (keys := _keys(profile, forced=False)) is None:
        return None
    runs = int(np.count_nonzero(keys[1:] != keys[:-1])) + 1
    return _WEIGHT * runs * (4 + profile.plain_bytes / profile.num_rows)


def _keys(profile: ColumnProfile, forced: bool) -> parts.Array | None:
    """Return numbers that are equal for equal neighbours, or None if the column does not look like runs."""
    if profile.integers is not None:
        return profile.integers.values
    if profile.domain is Domain.FLOAT:
        return parts.view(profile.physical, f"i{profile.physical.type.bit_width // 8}")
    if profile.domain is Domain.NONE or profile.dtype == t.BOOLEAN:
        return None
    found = profile.dictionary or (build_dictionary(profile.physical) if forced else None)
    return found[0] if found else None


def _encode(profile: ColumnProfile) -> EncodedColumn | None:
    if profile.num_valid == 0 or (keys := _keys(profile, forced=True)) is None:
        return None
    starts = np.concatenate([np.zeros(1, np.int64), np.flatnonzero(keys[1:] != keys[:-1]) + 1])
    lengths = np.diff(np.append(starts, profile.num_rows)).astype(np.uint32)
    values = plain.encode_array(profile.filled.take(parts.part(starts)), profile.dtype)
    return EncodedColumn(
        _NAME,
        profile.dtype,
        profile.num_rows,
        parts=profile.validity() | {"lengths": parts.part(lengths)},
        children={"values": values},
    )


def _decode(column: EncodedColumn) -> pa.Array[Any]:
    values = plain.CODEC.decode(column.children["values"])
    return values.take(_repeated(np.arange(len(values), dtype=np.uint32), column))


def _repeated(per_run: parts.Array, column: EncodedColumn) -> pa.Array[Any]:
    """Expand one number per run to one per row, with the column's nulls."""
    rows = np.repeat(per_run, parts.numpy(column.parts["lengths"]))
    kind = pa.from_numpy_dtype(rows.dtype)
    return pa.Array.from_buffers(kind, column.num_rows, [column.validity, parts.buffer_of(rows)])


def _scan_form(column: EncodedColumn) -> ScanForm:
    """Return strings as codes of the runs' distinct values. Numbers are expanded, which is as fast to scan.

    Arrow's run-end encoded arrays do not support `take` and have no nulls of their own. DuckDB groups by codes several
    times faster than by runs.
    """
    if not t.is_string(column.dtype):
        return Decoded(_decode(column))
    coded = plain.CODEC.decode(column.children["values"]).dictionary_encode()
    kind = np.min_scalar_type(len(coded.dictionary) - 1)
    codes = np.asarray(coded.indices).astype(kind)
    return DictionaryForm(pa.DictionaryArray.from_arrays(_repeated(codes, column), coded.dictionary))


CODEC = Codec(_NAME, _estimate, _encode, _decode, _scan_form)
