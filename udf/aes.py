"""AES in the mode of Java's "AES": ECB with PKCS#7 padding. Keys must have 16, 24 or 32 bytes, otherwise the result is
NULL.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.modes import ECB
    from cryptography.hazmat.primitives.padding import PKCS7

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
