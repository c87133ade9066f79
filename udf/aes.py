"""AES in the mode that Java's "AES" names: ECB with PKCS#7 padding; NULL for keys but of 16, 24, 32 bytes."""

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
    # Imported once a query encrypts: loading the library takes longer than the start of a shell may.
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
    """NULL where `data` is not what `aes_encrypt` gives with this key."""
    if len(key) not in _KEY_SIZES:
        return None
    cipher, padding = _cipher(key)
    decryptor, unpadder = cipher.decryptor(), padding.unpadder()
    try:
        padded = decryptor.update(data) + decryptor.finalize()
        return unpadder.update(padded) + unpadder.finalize()
    except ValueError:
        return None
