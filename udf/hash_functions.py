"""Hashes, checksums, encodings of bytes, and encryption."""

from __future__ import annotations

from collections.abc import Sequence

from sharkpy.base.errors import UnsupportedError
from sharkpy.udf.casts import lower_cast, wrap_integer
from sharkpy.udf.duckdb_sql import integer_value, quote_string, string_value
from sharkpy.udf.function import Lowering, NullPolicy
from sharkpy.udf.hash_kernels import XXHASH64
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, anything, converts
from sharkpy.values.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    INTEGER_TYPES,
    NULL,
    SMALLINT,
    STRING,
    TIMESTAMP,
    TINYINT,
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    StructType,
    is_string,
)

_WIDTHS = {SMALLINT: 2, INT: 4, BIGINT: 8}


def _java_hash(sql: str, dtype: DataType) -> str:
    """Return SQL of Java's hashCode as Hive's ObjectInspectorUtils computes it, for a primitive type."""
    if dtype == BIGINT:
        return f"shark_hash_bigint({sql})"
    if dtype in INTEGER_TYPES:
        return f"CAST({sql} AS INTEGER)"
    if dtype == BOOLEAN:
        return f"CASE WHEN {sql} THEN 1 WHEN NOT {sql} THEN 0 END"
    if dtype == DATE:
        return f"CAST({sql} - DATE '1970-01-01' AS INTEGER)"
    if dtype == FLOAT:
        return f"shark_float_bits(CAST({sql} AS DOUBLE))"
    if dtype == DOUBLE:
        return f"shark_hash_bigint(shark_double_bits({sql}))"
    if dtype == TIMESTAMP:
        return f"shark_hash_bigint(epoch_us({sql}))"
    if is_string(dtype) or isinstance(dtype, DecimalType):
        return f"shark_java_hash({lower_cast(sql, dtype, STRING)})"
    raise UnsupportedError(f"hash of {dtype}")


def _murmur_hash(sql: str, dtype: DataType) -> str:
    """Return SQL of the hash of Hive's buckets since version 3, for a primitive type."""
    if dtype == TINYINT:
        return f"CAST({sql} AS INTEGER)"
    if dtype in _WIDTHS:
        return f"shark_murmur_integer(CAST({sql} AS BIGINT), {_WIDTHS[dtype]})"
    if dtype == BOOLEAN:
        return f"CASE WHEN {sql} THEN 1 WHEN NOT {sql} THEN 0 END"
    if dtype == DATE:
        return f"shark_murmur_integer(CAST({sql} - DATE '1970-01-01' AS BIGINT), 4)"
    if dtype == FLOAT:
        return f"shark_murmur_float(CAST({sql} AS DOUBLE))"
    if dtype == DOUBLE:
        return f"shark_murmur_double({sql})"
    if is_string(dtype) or dtype == BINARY:
        return f"shark_murmur({_blob(sql, dtype)})"
    raise UnsupportedError(f"murmur_hash of {dtype}")


def _hash_of(sql: str, dtype: DataType, primitive: str, depth: int) -> str:
    """Return SQL of the hash of a value of any type, 0 for NULL. Elements and fields are chained by 31; hashes of map
    entries are added.
    """
    hashes = {"java": _java_hash, "murmur": _murmur_hash}
    item = f"hashed{depth}"
    match dtype:
        case ArrayType(element):
            inner = f"CAST({_hash_of(item, element, primitive, depth + 1)} AS BIGINT)"
            items = f"list_transform({sql}, lambda {item}: {inner})"
            chained = _chained("total", "other")
            value = f"CAST(list_reduce({items}, lambda total, other: CAST({chained} AS BIGINT), 0::BIGINT) AS INTEGER)"
        case StructType(names, types):
            fields = [f"struct_extract({sql}, {quote_string(name)})" for name in names]
            value = _chain(fields, types, primitive, depth)
        case MapType(key_type, value_type):
            key = _hash_of(f"{item}.key", key_type, primitive, depth + 1)
            entry = f"CAST(xor({key}, {_hash_of(f'{item}.value', value_type, 'java', depth + 1)}) AS BIGINT)"
            total = f"coalesce(list_sum(list_transform(map_entries({sql}), lambda {item}: {entry})), 0)"
            value = f"CASE WHEN {sql} IS NOT NULL THEN {wrap_integer(f'CAST({total} AS BIGINT)', INT)} END"
        case _:
            value = "0" if dtype == NULL else hashes[primitive](sql, dtype)
    return f"coalesce({value}, 0)"


def _chained(total: str, value: str) -> str:
    return wrap_integer(f"(CAST({total} AS BIGINT) * 31 + {value})", INT)


def _chain(sqls: Sequence[str], types: Types, primitive: str, depth: int) -> str:
    total = "0"
    for sql, dtype in zip(sqls, types, strict=True):
        value = _hash_of(sql, dtype, primitive, depth)
        total = value if total == "0" else _chained(total, value)
    return total


def _hash(primitive: str) -> Lowering:
    return lambda args, types, _result: _chain(args, types, primitive, 0)


def _text_or_binary(types: Types) -> Types | None:
    if not types:
        return None
    return types if types[0] == BINARY else (STRING, *types[1:]) if converts(types[0], STRING) else None


def _one_text_or_binary(types: Types) -> Types | None:
    return _text_or_binary(types) if len(types) == 1 else None


def _blob(sql: str, dtype: DataType) -> str:
    return sql if dtype == BINARY else f"encode({sql})"


def _blobs(function: str) -> Lowering:
    def lower(args: Sequence[str], types: Types, _result: DataType) -> str:
        return f"{function}({', '.join(map(_blob, args, types))})"

    return lower


def _cipher_arguments(types: Types) -> Types | None:
    """Two strings or binaries. Encryption also accepts texts; encrypted data is bytes."""
    fits = len(types) == 2 and all(is_string(dtype) or dtype in (BINARY, NULL) for dtype in types)
    return [BINARY if dtype in (BINARY, NULL) else STRING for dtype in types] if fits else None


def _encode(args: Sequence[str], _types: Types, _result: DataType) -> str:
    charset = string_value(args[1])
    return f"encode({args[0]})" if charset and charset.upper() == "UTF-8" else f"shark_encode({args[0]}, {args[1]})"


def _sha2(args: Sequence[str], types: Types, _result: DataType) -> str:
    data = _blob(args[0], types[0])
    return f"sha256({data})" if integer_value(args[1]) in (0, 256) else f"shark_sha2({data}, {args[1]})"


HASH_FUNCTIONS = (
    XXHASH64,
    Page("hash(x, …)", "Java's hash of the arguments, chained by 31", "hash('abc', 1) -> 2986975").scalar(
        anything(1), INT, _hash("java"), NullPolicy.CUSTOM
    ),
    Page(
        "murmur_hash(x, …)",
        "Murmur 3 of the arguments, chained by 31: the hash of Hive's buckets",
        "murmur_hash('abc', 1) -> -352310100",
    ).scalar(anything(1), INT, _hash("murmur"), NullPolicy.CUSTOM),
    Page("md5(x)", "MD5 in hexadecimal digits", "md5('abc') -> 900150983cd24fb0d6963f7d28e17f72").scalar(
        _one_text_or_binary, STRING, "md5({0})"
    ),
    Page("sha1(x)", "SHA-1 in hexadecimal digits", "sha1('abc') -> a9993e364706816aba3e25717850c26c9cd0d89d").scalar(
        _one_text_or_binary, STRING, "sha1({0})", aliases=("sha",)
    ),
    Page(
        "sha2(x, bits)",
        "SHA-2 of 224, 256, 384 or 512 bits (0: 256)",
        "sha2('abc', 256) -> ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    ).scalar(
        lambda types: (
            (*base, INT)
            if len(types) == 2 and converts(types[1], INT) and (base := _text_or_binary(types[:1]))
            else None
        ),
        STRING,
        _sha2,
        NullPolicy.CUSTOM,
    ),
    Page("crc32(x)", "cyclic redundancy check", "crc32('abc') -> 891568578").scalar(
        _one_text_or_binary, BIGINT, _blobs("shark_crc32")
    ),
    Page(
        "aes_encrypt(text, key)",
        "encrypted by AES with a key of 16, 24 or 32 bytes; NULL for other keys",
        "base64(aes_encrypt('ABC', '1234567890123456')) -> y6Ss+zCYObpCbgfWfyNWTw==",
    ).scalar(_cipher_arguments, BINARY, _blobs("shark_aes_encrypt")),
    Page(
        "aes_decrypt(data, key)",
        "decrypted by AES with a key of 16, 24 or 32 bytes; NULL for other keys",
        "aes_decrypt(unbase64('y6Ss+zCYObpCbgfWfyNWTw=='), '1234567890123456') -> ABC",
    ).scalar(_cipher_arguments, BINARY, _blobs("shark_aes_decrypt")),
    Page("base64(data)", "Base64 text", "base64('abc') -> YWJj").scalar((BINARY,), STRING, "to_base64({0})"),
    Page("unbase64(str)", "from Base64", "unbase64('YWJj') -> abc").scalar((STRING,), BINARY, "shark_unbase64({0})"),
    Page("unhex(str)", "from hexadecimal", "unhex('616263') -> abc").scalar((STRING,), BINARY, "TRY(unhex({0}))"),
    Page(
        "encode(str, charset)",
        "bytes in US-ASCII, ISO-8859-1, UTF-8, UTF-16BE, UTF-16LE or UTF-16",
        "encode('a', 'UTF-8') -> a",
    ).scalar((STRING, STRING), BINARY, _encode),
)
