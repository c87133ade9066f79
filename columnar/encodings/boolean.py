"""boolean: a bitset, which Arrow scans without a conversion."""

from __future__ import annotations

from dataclasses import replace

from sharkpy.columnar.encoded_column import Codec, EncodedColumn
from sharkpy.columnar.encodings import plain
from sharkpy.columnar.profile import ColumnProfile
from sharkpy.values import types as t

_NAME = "boolean"


def _estimate(profile: ColumnProfile) -> float | None:
    return profile.num_rows / 8 if profile.dtype == t.BOOLEAN else None


def _encode(profile: ColumnProfile) -> EncodedColumn | None:
    if profile.dtype != t.BOOLEAN:
        return None
    return replace(plain.encode_array(profile.array, profile.dtype), encoding=_NAME)


CODEC = Codec(_NAME, _estimate, _encode, plain.CODEC.decode, plain.CODEC.scan_form)
