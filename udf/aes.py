"""AES (FIPS 197) in the mode that Java's "AES" names: ECB with PKCS#7 padding; NULL for keys but of 16, 24, 32 bytes.

Nothing installed has AES. A round is four table lookups a column; the tables follow from the field GF(2^8).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from functools import lru_cache

BLOCK = 16


def _double(value: int) -> int:
    return (value << 1) ^ (0x11B if value & 0x80 else 0)


def _make_sbox() -> bytes:
    """Inverses by walking the powers of the generator 3, then the affine map."""
    box = bytearray(256)
    power = inverse = 1
    while True:
        power ^= _double(power)
        for shift in (1, 2, 4):
            inverse ^= (inverse << shift) & 0xFF
        inverse ^= 0x09 if inverse & 0x80 else 0
        rotated = inverse
        for _ in range(4):
            rotated = (rotated << 1 | rotated >> 7) & 0xFF
            box[power] = box[power] ^ rotated
        box[power] ^= inverse ^ 0x63
        if power == 1:
            break
    box[0] = 0x63
    return bytes(box)


def _times(value: int, factor: int) -> int:
    product = 0
    while factor:
        product ^= value if factor & 1 else 0
        value, factor = _double(value), factor >> 1
    return product


def _column_tables(box: Sequence[int], factors: tuple[int, int, int, int]) -> list[list[int]]:
    """For each row of the state: byte -> its substitute's share of a mixed column, as a word."""
    words = []
    for byte in range(256):
        shares = [_times(box[byte], factor) for factor in factors]
        words.append(shares[0] << 24 | shares[1] << 16 | shares[2] << 8 | shares[3])
    return [[word >> 8 * row | (word << 32 - 8 * row) & 0xFFFFFFFF for word in words] for row in range(4)]


SBOX = _make_sbox()
_INVERSE_SBOX = bytes(SBOX.index(byte) for byte in range(256))
_ENCRYPT = _column_tables(SBOX, (2, 1, 1, 3))
_DECRYPT = _column_tables(_INVERSE_SBOX, (14, 9, 13, 11))
_UNMIX = _column_tables(range(256), (14, 9, 13, 11))


@lru_cache(maxsize=256)
def _round_keys(key: bytes) -> tuple[tuple[int, ...], ...]:
    """The key schedule: four words a round."""
    length = len(key) // 4
    words = list(struct.unpack(f">{length}I", key))
    constant = 1
    for index in range(length, 4 * (length + 7)):
        word = words[-1]
        if index % length == 0:
            word = _substitute((word << 8 | word >> 24) & 0xFFFFFFFF) ^ constant << 24
            constant = _double(constant)
        elif length > 6 and index % length == 4:
            word = _substitute(word)
        words.append(words[index - length] ^ word)
    return tuple(tuple(words[at : at + 4]) for at in range(0, len(words), 4))


def _substitute(word: int) -> int:
    return int.from_bytes(bytes(SBOX[byte] for byte in word.to_bytes(4, "big")), "big")


@lru_cache(maxsize=256)
def _decryption_keys(key: bytes) -> tuple[tuple[int, ...], ...]:
    """The round keys backwards, the inner ones unmixed: the equivalent inverse cipher."""
    first, *inner, last = _round_keys(key)[::-1]
    return (first, *(tuple(map(_unmix, words)) for words in inner), last)


def _unmix(word: int) -> int:
    share = word.to_bytes(4, "big")
    return _UNMIX[0][share[0]] ^ _UNMIX[1][share[1]] ^ _UNMIX[2][share[2]] ^ _UNMIX[3][share[3]]


def _block(
    block: bytes, keys: Sequence[Sequence[int]], tables: Sequence[Sequence[int]], box: bytes, turn: int
) -> bytes:
    """One block through all rounds; row r of the state comes from `turn * r` columns further on."""
    first, second, third, fourth = tables
    state = [word ^ key for word, key in zip(struct.unpack(">4I", block), keys[0], strict=True)]
    for key in keys[1:-1]:
        state = [
            first[state[at] >> 24]
            ^ second[state[(at + turn) % 4] >> 16 & 0xFF]
            ^ third[state[(at + 2) % 4] >> 8 & 0xFF]
            ^ fourth[state[(at - turn) % 4] & 0xFF]
            ^ key[at]
            for at in range(4)
        ]
    words = [
        box[state[at] >> 24] << 24
        | box[state[(at + turn) % 4] >> 16 & 0xFF] << 16
        | box[state[(at + 2) % 4] >> 8 & 0xFF] << 8
        | box[state[(at - turn) % 4] & 0xFF]
        for at in range(4)
    ]
    return struct.pack(">4I", *(word ^ key for word, key in zip(words, keys[-1], strict=True)))


def _blocks(data: bytes) -> list[bytes]:
    return [data[at : at + BLOCK] for at in range(0, len(data), BLOCK)]


def encrypt(data: bytes, key: bytes) -> bytes | None:
    if len(key) not in (16, 24, 32):
        return None
    missing = BLOCK - len(data) % BLOCK
    keys = _round_keys(key)
    return b"".join(_block(block, keys, _ENCRYPT, SBOX, 1) for block in _blocks(data + bytes([missing]) * missing))


def decrypt(data: bytes, key: bytes) -> bytes | None:
    """NULL where `data` is not what `encrypt` gives with this key."""
    if len(key) not in (16, 24, 32) or not data or len(data) % BLOCK:
        return None
    keys = _decryption_keys(key)
    padded = b"".join(_block(block, keys, _DECRYPT, _INVERSE_SBOX, -1) for block in _blocks(data))
    count = padded[-1]
    valid = 1 <= count <= BLOCK and padded.endswith(bytes([count]) * count)
    return padded[:-count] if valid else None
