"""Kernels of hashes and encryption: Hive's Murmur 3, Spark's xxHash64, AES.

- Murmur 3 has 32 bits, with the seed and the byte order of Hive's buckets.
- xxhash64 hashes each argument in turn. The previous hash is the seed of the next one.
- AES is in the mode of Java's "AES": ECB with PKCS#7 padding. Keys must have 16, 24 or 32 bytes, otherwise the result
  is NULL.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import mmh3
import xxhash

from sharkpy.base.errors import UnsupportedError
from sharkpy.udf.function import NullPolicy
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, anything
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

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.modes import ECB
    from cryptography.hazmat.primitives.padding import PKCS7

_HIVE_SEED = 104729


def murmur(data: bytes) -> int:
    """The hash as a signed 32-bit integer."""
    return mmh3.hash(data, _HIVE_SEED)


def murmur_integer(value: int, width: int) -> int:
    """Return the hash of an integer of `width` bytes, most significant first."""
    return murmur(value.to_bytes(width, "big", signed=True))


def murmur_double(value: float) -> int:
    """Return the hash of a DOUBLE. Hive converts its bits, as an integer, to a DOUBLE again."""
    bits = int.from_bytes(struct.pack(">d", value), "big", signed=True)
    return murmur(struct.pack(">d", float(bits)))


def murmur_float(value: float) -> int:
    """Return the hash of a FLOAT: its 32 bits, as an integer, converted to a FLOAT again."""
    bits = int.from_bytes(struct.pack(">f", value), "big", signed=True)
    return murmur(struct.pack(">f", float(bits)))


_SPARK_SEED = 42


def hash_bytes(data: bytes, seed: int) -> int:
    value = xxhash.xxh64_intdigest(data, seed & (1 << 64) - 1)
    return value - (1 << 64) if value >> 63 else value


def hash_integer(value: int, width: int, seed: int) -> int:
    return hash_bytes(value.to_bytes(width, "little", signed=True), seed)


def hash_double(value: float, width: int, seed: int) -> int:
    """Hash the bits as Java has them: a single NaN, and 0.0 for -0.0."""
    plain = float("nan") if math.isnan(value) else value + 0.0
    return hash_bytes(struct.pack("<f" if width == 4 else "<d", plain), seed)


def _hash_of_one(sql: str, dtype: DataType, seed: str) -> str:
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
    found = f"CAST({_SPARK_SEED} AS BIGINT)"
    for sql, dtype in zip(args, types, strict=True):
        if dtype != NULL:
            found = _hash_of_one(sql, dtype, found)
    return found


XXHASH64 = Page(
    "xxhash64(x, …)",
    "the hash of the arguments in 64 bits, as Spark computes it",
    "xxhash64('abc', 1) -> 615990704253164077",
).scalar(anything(1), BIGINT, _xxhash64, NullPolicy.CUSTOM)


_KEY_SIZES = (16, 24, 32)


@lru_cache(maxsize=256)
def _cipher(key: bytes) -> tuple[Cipher[ECB], PKCS7]:
    # Imported when a query first encrypts, since loading the library is slow.
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import ECB
    from cryptography.hazmat.primitives.padding import PKCS7

    return Cipher(AES(key), ECB()), PKCS7(AES.block_size)


def aes_encrypt(data: bytes, key: bytes) -> bytes | None:
    if len(key) not in _KEY_SIZES:
        return None
    cipher, padding = _cipher(key)
    padder, encryptor = padding.padder(), cipher.encryptor()
    padded = padder.update(data) + padder.finalize()
    return encryptor.update(padded) + encryptor.finalize()


def aes_decrypt(data: bytes, key: bytes) -> bytes | None:
    """Decrypt the output of `aes_encrypt` with the same key, or return None for other data."""
    if len(key) not in _KEY_SIZES:
        return None
    cipher, padding = _cipher(key)
    decryptor, unpadder = cipher.decryptor(), padding.unpadder()
    try:
        padded = decryptor.update(data) + decryptor.finalize()
        return unpadder.update(padded) + unpadder.finalize()
    except ValueError:
        return None
