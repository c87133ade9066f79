"""Corrects timestamps before 1970 with a fraction of a second, in files of Arrow's ORC writer.

It writes -0.5 s as zero seconds and minus half a second. The specification has no negative nanoseconds, and Java's
readers fail on them. So both streams of such a column are rewritten.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from sharkpy.sources.arrow import Array, pc
from sharkpy.sources.hybrid_calendar import Days
from sharkpy.sources.nested_arrays import leaves_of
from sharkpy.sources.orc_stripe import DATA, EPOCH_2015, SECONDARY, VERSION_2, ExactStripe, footer_of
from sharkpy.sources.orc_tail import STRIPES, Fields, OrcTail, message_of, messages, number_of, read_tail

_INDEX_ROWS, _CONTENT_LENGTH, _METADATA_LENGTH = 8, 2, 5
_RUN = 512
"""Most values of a run."""
_DIRECT_64 = 0x7E00 | (_RUN - 1)
"""Header of a run of values in 64 bits each: encoding 1, code of the width 31, number of values less one."""


def has_early_fractions(batch: pa.RecordBatch) -> bool:
    """True if a timestamp before 1970, at any depth, has a fraction of a second."""
    times = (leaf for column in batch.columns for leaf in leaves_of(column) if pa.types.is_timestamp(leaf.type))
    return any(_has_early_fraction(leaf) for leaf in times)


def _has_early_fraction(leaf: Array) -> bool:
    low = pc.min(leaf.cast(pa.int64())).as_py()
    if low is None or low >= 0:
        return False
    micros = leaf.drop_null().cast(pa.int64()).to_numpy()
    return bool(((micros < 0) & (micros % 10**6 != 0)).any())


def mend_fractions(file: BinaryIO, folder: Path) -> None:
    """Rewrite the stripes of an open file, without indexes; `folder` is for a temporary file."""
    tail = read_tail(file)
    with tempfile.TemporaryFile(dir=folder) as made:
        made.write(b"ORC")
        count = len(messages(tail.footer, STRIPES))
        stripes = [(STRIPES, _rewritten(ExactStripe(file, tail, index), tail, made)) for index in range(count)]
        length = made.tell()
        size = number_of(tail.postscript, _METADATA_LENGTH)
        file.seek(tail.footer_start - size)
        metadata = file.read(size)
        made.seek(0)
        file.seek(0)
        file.truncate()
        shutil.copyfileobj(made, file)
    kept = [field for field in tail.footer if field[0] not in (STRIPES, _INDEX_ROWS, _CONTENT_LENGTH)]
    footer: Fields = ((_CONTENT_LENGTH, length), *stripes, *kept, (_INDEX_ROWS, 0))
    file.write(metadata + tail.with_footer(footer).encoded())


def _rewritten(stripe: ExactStripe, tail: OrcTail, made: BinaryIO) -> bytes:
    """Write a stripe; return its entry in the footer."""
    encodings, start = stripe.encodings(), made.tell()
    changed = {
        (kind, one): tail.packed(data)
        for one, (seconds, nanos) in stripe.halves().items()
        if encodings[one] == VERSION_2 and (nanos < 0).any()
        for kind, data in zip((DATA, SECONDARY), _streams(seconds, nanos), strict=True)
    }
    streams = [(kind, one, changed.get((kind, one), data)) for kind, one, data in stripe.streams()]
    made.writelines(data for _, _, data in streams)
    length = made.tell() - start
    footer = tail.packed(footer_of(streams, stripe.footer, stripe.zone))
    made.write(footer)
    return message_of(((1, start), (2, 0), (3, length), (4, len(footer)), (5, stripe.num_rows)))


def _streams(seconds: Days, nanos: Days) -> tuple[bytes, bytes]:
    """Streams of seconds and nanoseconds in the form of Java's writer.

    Seconds are rounded towards zero if the fraction is more than a millisecond. So the last second before 1970 cannot
    be represented, and keeps Arrow's form.
    """
    instants = seconds + EPOCH_2015 + nanos // 10**9
    fraction = nanos % 10**9
    is_lost = (instants == -1) & (fraction > 999_999)
    instants += (instants < 0) & (fraction > 999_999)
    stored = np.where(is_lost, seconds, instants - EPOCH_2015)
    zigzag = (stored << 1) ^ (stored >> 63)
    return _runs(zigzag), _runs(_without_zeros(np.where(is_lost, nanos, fraction)))


def _without_zeros(nanos: Days) -> Days:
    """Nanoseconds without trailing zeros; the last three bits are the number of zeros less one."""
    rest, zeros = nanos.copy(), np.zeros_like(nanos)
    is_short = (nanos != 0) & (np.abs(nanos) % 100 == 0)
    rest[is_short] //= 100
    zeros[is_short] = 1
    for _ in range(6):
        goes_on = is_short & (np.abs(rest) % 10 == 0)
        rest[goes_on] //= 10
        zeros[goes_on] += 1
    return (rest << 3) | zeros


def _runs(values: Days) -> bytes:
    return b"".join(_run(values[start : start + _RUN]) for start in range(0, len(values), _RUN))


def _run(values: np.ndarray[Any, Any]) -> bytes:
    header = (_DIRECT_64 & ~(_RUN - 1)) | (len(values) - 1)
    return header.to_bytes(2, "big") + values.astype(">i8").tobytes()
