"""Encodings of columns: the table of codecs, and the choice among them.

To add a codec, write a `Codec` in the file of its kind and add a row here. The round-trip test covers all rows.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sharkpy.base.errors import ConfigurationError, did_you_mean
from sharkpy.columnar.encoded_column import Codec, EncodedColumn, ScanForm
from sharkpy.columnar.encodings import block, dictionary, integers, matrix, runs, scaled, uncompressed
from sharkpy.columnar.profile import ColumnProfile

# If costs are equal, the first codec wins: codecs that are scanned as stored come first.
CODECS: tuple[Codec, ...] = (
    runs.CONSTANT,
    uncompressed.BOOLEAN,
    integers.NARROW,
    dictionary.CODEC,
    uncompressed.PLAIN,
    integers.BIT_PACKED,
    runs.RUN_LENGTH,
    integers.DELTA,
    scaled.CODEC,
    block.CODEC,
    matrix.CODEC,
)
CODEC_BY_NAME = {codec.name: codec for codec in CODECS}
_CHEAP_ENOUGH = ("constant", "boolean")


def encode(profile: ColumnProfile, force_encoding: str = "") -> EncodedColumn:
    """Encode a column with the forced codec if that applies, else with the cheapest one."""
    if force_encoding:
        if force_encoding not in CODEC_BY_NAME:
            raise ConfigurationError(
                f'no encoding "{force_encoding}"', hint=did_you_mean(force_encoding, CODEC_BY_NAME), sqlstate="22023"
            )
        if (forced := CODEC_BY_NAME[force_encoding].encode(profile)) is not None:
            return forced
    for codec in _by_cost(profile):
        if (encoded := codec.encode(profile)) is not None:
            return encoded
    return uncompressed.encode_array(profile.array, profile.dtype)


def _by_cost(profile: ColumnProfile) -> list[Codec]:
    costs: list[tuple[float, Codec]] = []
    for codec in CODECS:
        if (cost := codec.estimate(profile)) is not None:
            if codec.name in _CHEAP_ENOUGH:
                return [codec]
            costs.append((cost, codec))
    return [codec for _, codec in sorted(costs, key=lambda pair: pair[0])]


def decode(column: EncodedColumn) -> pa.Array[Any]:
    """Decode a column to its logical Arrow type."""
    return CODEC_BY_NAME[column.encoding].decode(column)


def scan_form(column: EncodedColumn) -> ScanForm:
    """Return the form in which the column is cheapest to scan."""
    return CODEC_BY_NAME[column.encoding].scan_form(column)
