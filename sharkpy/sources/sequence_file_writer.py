"""New sequence files: rows as values under an empty key."""

from __future__ import annotations

import os
import struct
from typing import BinaryIO

from sharkpy.sources.hadoop_codecs import HadoopCodec
from sharkpy.sources.writables import joined_vlongs, write_text, write_vlong

MAGIC, VERSION = b"SEQ", 6
SYNC_ESCAPE = b"\xff\xff\xff\xff"
SYNC_BYTES = 16
TEXT_CLASS, BYTES_CLASS = "org.apache.hadoop.io.Text", "org.apache.hadoop.io.BytesWritable"
_SYNC_INTERVAL = 64 << 10
_BLOCK_BYTES = 1 << 20
_EMPTY_KEY = struct.pack(">i", 0)
"""An empty BytesWritable: Hive's key."""


class SequenceFileWriter:
    """Writer of records with an empty key."""

    def __init__(
        self, file: BinaryIO, value_class: str, codec: HadoopCodec | None, codec_class: str, is_block: bool
    ) -> None:
        self._file = file
        self._codec = codec
        self._is_block = is_block
        self._sync = os.urandom(SYNC_BYTES)
        self._pending: list[bytes] = []
        self._size = 0
        header = [MAGIC, bytes([VERSION]), write_text(BYTES_CLASS), write_text(value_class)]
        header += [bytes([codec is not None, is_block])]
        header += [] if codec is None else [write_text(full_class(codec, codec_class))]
        file.write(b"".join([*header, struct.pack(">i", 0), self._sync]))

    def append(self, value: bytes) -> None:
        if self._codec is not None and not self._is_block:
            value = self._codec.compress(value)
        self._pending.append(value)
        self._size += len(value) + 12
        if self._size >= (_BLOCK_BYTES if self._is_block else _SYNC_INTERVAL):
            self.flush()

    def flush(self) -> None:
        """Write the pending records after a sync marker."""
        if not self._pending:
            return
        self._file.write(SYNC_ESCAPE + self._sync)
        self._file.write(self._block() if self._is_block else self._records())
        self._pending, self._size = [], 0

    def _records(self) -> bytes:
        pack, key_bytes = struct.Struct(">ii").pack, len(_EMPTY_KEY)
        return b"".join(pack(key_bytes + len(one), key_bytes) + _EMPTY_KEY + one for one in self._pending)

    def _block(self) -> bytes:
        compress = self._codec.compress if self._codec is not None else bytes
        count = len(self._pending)
        key_lengths = joined_vlongs([len(_EMPTY_KEY)] * count)
        value_lengths = joined_vlongs([len(one) for one in self._pending])
        parts = (key_lengths, _EMPTY_KEY * count, value_lengths, b"".join(self._pending))
        packed = [compress(part) for part in parts]
        return write_vlong(count) + b"".join(write_vlong(len(part)) + part for part in packed)


def full_class(codec: HadoopCodec, name: str) -> str:
    """The class of a codec if `name` is one of its classes, otherwise its first class."""
    return name if name in codec.classes else codec.classes[0]
