"""constant: one value for all rows, or only nulls."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa

from sharkpy.columnar import parts
from sharkpy.columnar.domain import Domain
from sharkpy.columnar.encoded_column import Codec, Decoded, DictionaryForm, EncodedColumn, ScanForm
from sharkpy.columnar.encodings import plain
from sharkpy.columnar.profile import ColumnProfile
from sharkpy.values import types as t

_NAME = "constant"


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


def _estimate(profile: ColumnProfile) -> float | None:
    return 1.0 if _is_constant(profile) else None


def _encode(profile: ColumnProfile) -> EncodedColumn | None:
    if not _is_constant(profile):
        return None
    if profile.num_valid == 0:
        return EncodedColumn(_NAME, profile.dtype, profile.num_rows)
    value = plain.encode_array(profile.filled.slice(0, 1), profile.dtype)
    return EncodedColumn(
        _NAME, profile.dtype, profile.num_rows, parts=parts.validity_part(profile.array), children={"value": value}
    )


def _coded(column: EncodedColumn) -> pa.DictionaryArray[Any, Any]:
    value = plain.CODEC.decode(column.children["value"])
    codes = np.zeros(column.num_rows, np.uint8)
    indices = pa.Array.from_buffers(pa.uint8(), column.num_rows, [column.validity, parts.buffer_of(codes)])
    return pa.DictionaryArray.from_arrays(indices, value)


def _decode(column: EncodedColumn) -> pa.Array[Any]:
    if "value" not in column.children:
        nulls: pa.Array[Any] = pa.nulls(column.num_rows, cast("Any", t.to_arrow(column.dtype)))
        return nulls
    coded = _coded(column)
    return coded.dictionary.take(coded.indices)


def _scan_form(column: EncodedColumn) -> ScanForm:
    if "value" in column.children and t.is_string(column.dtype):
        return DictionaryForm(_coded(column))
    return Decoded(_decode(column))


CODEC = Codec(_NAME, _estimate, _encode, _decode, _scan_form)
