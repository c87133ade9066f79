"""dictionary: codes of sorted distinct values, for strings with few values and numbers with few, widely spread
values.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sharkpy.columnar import arrow_buffers
from sharkpy.columnar.domain import Domain
from sharkpy.columnar.encoded_column import Codec, Decoded, DictionaryForm, EncodedColumn, ScanForm
from sharkpy.columnar.encodings import uncompressed
from sharkpy.columnar.profile import ColumnProfile, build_dictionary
from sharkpy.values import types as t

_NAME = "dictionary"
_NUMBER_WEIGHT = 1.25


def _estimate(profile: ColumnProfile) -> float | None:
    if profile.dtype == t.BOOLEAN:
        return None
    if profile.integers is not None:
        return _estimate_integers(profile)
    if (found := profile.dictionary) is None:
        return None
    codes, values = found
    weight = 1.0 if profile.domain is Domain.BYTES else _NUMBER_WEIGHT
    return (codes.nbytes + values.nbytes) * weight


def _estimate_integers(profile: ColumnProfile) -> float | None:
    """Estimate from the number of distinct values. The codes must be narrower than narrow codes, so a sample has to
    repeat often.
    """
    width = profile.codes.itemsize if profile.codes is not None else 8
    if width == 1 or profile.sample_distinct > (256 if width == 2 else 2048):
        return None
    code_width = arrow_buffers.code_width(profile.num_distinct)
    if code_width is None or int(code_width[1]) >= width:
        return None
    return (profile.num_rows * int(code_width[1]) + profile.num_distinct * 8) * _NUMBER_WEIGHT


def _encode(profile: ColumnProfile) -> EncodedColumn | None:
    if profile.num_valid == 0 or profile.domain is Domain.NONE or profile.dtype == t.BOOLEAN:
        return None
    codes, values = profile.dictionary or build_dictionary(profile.physical)
    return EncodedColumn(
        _NAME,
        profile.dtype,
        profile.num_rows,
        parts=profile.validity() | {"codes": arrow_buffers.part(codes)},
        children={"values": uncompressed.encode_array(_logical(values, profile.dtype), profile.dtype)},
    )


def _logical(values: pa.Array[Any], dtype: t.DataType) -> pa.Array[Any]:
    target = t.to_arrow(dtype)
    if values.type == target:
        return values
    if isinstance(dtype, t.DecimalType):
        return arrow_buffers.integers_to_arrow(arrow_buffers.view(values, "i8"), dtype, None)
    return values.view(target)


def _dictionary_array(column: EncodedColumn) -> pa.DictionaryArray[Any, Any]:
    codes = column.parts["codes"]
    indices = pa.Array.from_buffers(codes.type, column.num_rows, [column.validity, codes.buffers()[1]])
    return pa.DictionaryArray.from_arrays(indices, uncompressed.PLAIN.decode(column.children["values"]))


def _decode(column: EncodedColumn) -> pa.Array[Any]:
    coded = _dictionary_array(column)
    return coded.dictionary.take(coded.indices)


def _scan_form(column: EncodedColumn) -> ScanForm:
    return DictionaryForm(_dictionary_array(column)) if t.is_string(column.dtype) else Decoded(_decode(column))


CODEC = Codec(_NAME, _estimate, _encode, _decode, _scan_form)
