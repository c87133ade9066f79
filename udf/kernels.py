"""Functions that DuckDB's SQL cannot express, as Python over Arrow columns. KERNELS has one row for each.

A kernel returns NULL if an argument is NULL. Rows are processed one by one, but each distinct call of a batch is
computed once. Between two calls a kernel checks for cancellation. A kernel that may take long also checks itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import unquote_plus

import pyarrow as pa

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.records import dataclass
from sharkpy.udf import hash_kernels
from sharkpy.udf.hash_kernels import aes_decrypt, aes_encrypt, murmur, murmur_double, murmur_float, murmur_integer
from sharkpy.udf.java_datetime import format_moment, format_time, parse_moment, parse_time
from sharkpy.udf.java_regex.python_engine import batch, regexp_extract, regexp_extract_all, regexp_replace, rlike, split
from sharkpy.udf.java_zones import zone_shift
from sharkpy.udf.json_path import get_json_object
from sharkpy.udf.masking import mask_date, mask_number, mask_text
from sharkpy.udf.number_text import (
    conv,
    decimal_arithmetic,
    double_bits,
    float_bits,
    format_pattern,
    format_places,
    java_double_text,
    java_float_text,
    to_char,
    to_number,
)
from sharkpy.udf.printf import printf
from sharkpy.udf.string_kernels import initcap, levenshtein, lower_text, sentences, substring_index, upper_text
from sharkpy.udf.text_codes import (
    crc32,
    decode_bytes,
    encode_text,
    java_hash,
    parse_url,
    path_value,
    sha2,
    soundex,
    unbase64,
)
from sharkpy.udf.xpath import xpath, xpath_boolean, xpath_double, xpath_int, xpath_long, xpath_string
from sharkpy.values.utf8 import encodable


@dataclass(frozen=True, slots=True)
class Kernel:
    """A DuckDB function by name, with parameter types and result type in DuckDB's syntax."""

    name: str
    parameters: tuple[str, ...]
    result: str
    function: Callable[..., object]
    over_null: int | None = None
    """Index of the argument that is returned if another one is NULL. None: the result is NULL."""

    def vectorized(self) -> Callable[..., pa.Array[Any]]:
        """Return the kernel over columns."""

        def run(*columns: pa.ChunkedArray[Any]) -> pa.Array[Any]:
            memo: dict[tuple[object, ...], object] = {}
            rows = zip(*map(_values, columns), strict=True)
            with batch():
                return result_array(list(self._rows(rows, memo)), self.result)

        return run

    def _rows(self, rows: Iterator[tuple[object, ...]], memo: dict[tuple[object, ...], object]) -> Iterator[object]:
        for row in rows:
            if None in row:
                yield None if self.over_null is None else row[self.over_null]
                continue
            if row not in memo:
                check_cancelled()
                memo[row] = self.function(*row)
            yield memo[row]


def result_array(values: list[Any], result: str) -> pa.Array[Any]:
    """Return Python values as a column of DuckDB's type `result`. Texts may have unpaired surrogates, as in JSON."""
    try:
        return pa.array(values, type=_ARROW_TYPES[result])
    except UnicodeEncodeError:
        return pa.array([_encodable(value) for value in values], type=_ARROW_TYPES[result])


def _encodable(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_encodable(one) for one in value]
    return encodable(value) if isinstance(value, str) else value


def _values(column: pa.ChunkedArray[Any]) -> Iterable[object]:
    """Return Python values, with lists as tuples, which can be cached."""
    values = column.to_pylist()
    return (value if value is None else tuple(value) for value in values) if pa.types.is_list(column.type) else values


_ARROW_TYPES: dict[str, pa.DataType] = {
    "VARCHAR": pa.string(),
    "BOOLEAN": pa.bool_(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BLOB": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
    "VARCHAR[]": pa.list_(pa.string()),
    "VARCHAR[][]": pa.list_(pa.list_(pa.string())),
}


KERNELS = (
    Kernel(
        "shark_decimal_arithmetic",
        ("VARCHAR", "VARCHAR", "VARCHAR", "INTEGER", "INTEGER"),
        "VARCHAR",
        decimal_arithmetic,
    ),
    Kernel("shark_double_text_kernel", ("DOUBLE",), "VARCHAR", java_double_text),
    Kernel("shark_float_text_kernel", ("DOUBLE",), "VARCHAR", java_float_text),
    Kernel("shark_rlike", ("VARCHAR", "VARCHAR"), "BOOLEAN", rlike),
    Kernel("shark_regexp_replace", ("VARCHAR", "VARCHAR", "VARCHAR"), "VARCHAR", regexp_replace),
    Kernel("shark_regexp_extract", ("VARCHAR", "VARCHAR", "INTEGER"), "VARCHAR", regexp_extract),
    Kernel("shark_regexp_extract_all", ("VARCHAR", "VARCHAR", "INTEGER"), "VARCHAR[]", regexp_extract_all),
    Kernel("shark_split", ("VARCHAR", "VARCHAR", "INTEGER"), "VARCHAR[]", split),
    Kernel("shark_date_format", ("TIMESTAMP", "VARCHAR"), "VARCHAR", format_time),
    Kernel("shark_format_moment", ("TIMESTAMP", "VARCHAR", "VARCHAR"), "VARCHAR", format_moment),
    Kernel("shark_parse_time", ("VARCHAR", "VARCHAR"), "TIMESTAMP", parse_time),
    Kernel("shark_parse_moment", ("VARCHAR", "VARCHAR", "VARCHAR"), "TIMESTAMP", parse_moment),
    Kernel("shark_levenshtein", ("VARCHAR", "VARCHAR"), "INTEGER", levenshtein),
    Kernel("shark_substring_index", ("VARCHAR", "VARCHAR", "INTEGER"), "VARCHAR", substring_index),
    Kernel("shark_crc32", ("BLOB",), "BIGINT", crc32),
    Kernel("shark_sha2", ("BLOB", "INTEGER"), "VARCHAR", sha2),
    Kernel("shark_url_decode", ("VARCHAR",), "VARCHAR", unquote_plus),
    Kernel("shark_unbase64", ("VARCHAR",), "BLOB", unbase64),
    Kernel("shark_upper", ("VARCHAR",), "VARCHAR", upper_text),
    Kernel("shark_lower", ("VARCHAR",), "VARCHAR", lower_text),
    Kernel("shark_initcap", ("VARCHAR",), "VARCHAR", initcap),
    Kernel("shark_soundex", ("VARCHAR",), "VARCHAR", soundex),
    Kernel("shark_conv", ("VARCHAR", "INTEGER", "INTEGER"), "VARCHAR", conv),
    Kernel("shark_get_json_object", ("VARCHAR", "VARCHAR"), "VARCHAR", get_json_object),
    Kernel("shark_path_value", ("VARCHAR", "VARCHAR"), "VARCHAR", path_value),
    Kernel("shark_parse_url", ("VARCHAR", "VARCHAR", "VARCHAR"), "VARCHAR", parse_url),
    Kernel("shark_format_places", ("VARCHAR", "INTEGER", "BOOLEAN"), "VARCHAR", format_places),
    Kernel("shark_format_pattern", ("VARCHAR", "VARCHAR", "BOOLEAN"), "VARCHAR", format_pattern),
    Kernel("shark_to_char", ("VARCHAR", "VARCHAR"), "VARCHAR", to_char),
    Kernel("shark_to_number", ("VARCHAR", "VARCHAR"), "VARCHAR", to_number),
    Kernel("shark_java_hash", ("VARCHAR",), "INTEGER", java_hash),
    Kernel("shark_double_bits", ("DOUBLE",), "BIGINT", double_bits),
    Kernel("shark_zone_shift", ("TIMESTAMP", "VARCHAR", "BOOLEAN"), "TIMESTAMP", zone_shift),
    Kernel("shark_encode", ("VARCHAR", "VARCHAR"), "BLOB", encode_text),
    Kernel("shark_decode", ("BLOB", "VARCHAR"), "VARCHAR", decode_bytes),
    Kernel("shark_float_bits", ("DOUBLE",), "INTEGER", float_bits),
    Kernel("shark_murmur", ("BLOB",), "INTEGER", murmur),
    Kernel("shark_murmur_integer", ("BIGINT", "INTEGER"), "INTEGER", murmur_integer),
    Kernel("shark_murmur_double", ("DOUBLE",), "INTEGER", murmur_double),
    Kernel("shark_murmur_float", ("DOUBLE",), "INTEGER", murmur_float),
    Kernel("shark_xxhash", ("BLOB", "BIGINT"), "BIGINT", hash_kernels.hash_bytes, over_null=1),
    Kernel("shark_xxhash_integer", ("BIGINT", "INTEGER", "BIGINT"), "BIGINT", hash_kernels.hash_integer, over_null=2),
    Kernel("shark_xxhash_double", ("DOUBLE", "INTEGER", "BIGINT"), "BIGINT", hash_kernels.hash_double, over_null=2),
    Kernel("shark_printf", ("VARCHAR", "VARCHAR", "VARCHAR[]"), "VARCHAR", printf),
    Kernel("shark_sentences", ("VARCHAR",), "VARCHAR[][]", sentences),
    Kernel("shark_aes_encrypt", ("BLOB", "BLOB"), "BLOB", aes_encrypt),
    Kernel("shark_aes_decrypt", ("BLOB", "BLOB"), "BLOB", aes_decrypt),
    Kernel(
        "shark_mask_text",
        ("VARCHAR", "VARCHAR", "INTEGER", "INTEGER", "INTEGER", "INTEGER", "INTEGER"),
        "VARCHAR",
        mask_text,
    ),
    Kernel("shark_mask_number", ("BIGINT", "VARCHAR", "INTEGER", "INTEGER"), "BIGINT", mask_number),
    Kernel("shark_mask_date", ("DATE", "INTEGER", "INTEGER", "INTEGER"), "DATE", mask_date),
    Kernel("shark_xpath", ("VARCHAR", "VARCHAR"), "VARCHAR[]", xpath),
    Kernel("shark_xpath_string", ("VARCHAR", "VARCHAR"), "VARCHAR", xpath_string),
    Kernel("shark_xpath_boolean", ("VARCHAR", "VARCHAR"), "BOOLEAN", xpath_boolean),
    Kernel("shark_xpath_double", ("VARCHAR", "VARCHAR"), "DOUBLE", xpath_double),
    Kernel("shark_xpath_int", ("VARCHAR", "VARCHAR"), "INTEGER", xpath_int),
    Kernel("shark_xpath_long", ("VARCHAR", "VARCHAR"), "BIGINT", xpath_long),
)
