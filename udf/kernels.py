"""Functions that DuckDB's SQL cannot say, as Python over Arrow columns; one row each in KERNELS.

A kernel is NULL where an argument is NULL. Rows are taken one by one, but each distinct call of a batch is
computed once.
"""

from __future__ import annotations

import datetime
import decimal
import hashlib
import inspect
import json
import math
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from sharkpy.udf.java_datetime import format_time, parse_time
from sharkpy.udf.java_regex import compile_java, python_template


@dataclass(frozen=True, slots=True)
class Kernel:
    """A function of DuckDB by name: parameter types and result type in DuckDB's spelling."""

    name: str
    parameters: tuple[str, ...]
    result: str
    function: Callable[..., object]

    def vectorized(self) -> Callable[..., pa.Array[Any]]:
        """The kernel over columns, with as many parameters as DuckDB is to see."""

        def run(*columns: pa.ChunkedArray[Any]) -> pa.Array[Any]:
            memo: dict[tuple[object, ...], object] = {}
            rows = zip(*(column.to_pylist() for column in columns), strict=True)
            return pa.array(list(self._rows(rows, memo)), type=_ARROW_TYPES[self.result])

        names = (f"column{index}" for index in range(len(self.parameters)))
        parameters = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    def _rows(self, rows: Iterator[tuple[object, ...]], memo: dict[tuple[object, ...], object]) -> Iterator[object]:
        for row in rows:
            if None in row:
                yield None
                continue
            if row not in memo:
                memo[row] = self.function(*row)
            yield memo[row]


_ARROW_TYPES: dict[str, pa.DataType] = {
    "VARCHAR": pa.string(),
    "BOOLEAN": pa.bool_(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "DOUBLE": pa.float64(),
    "BLOB": pa.binary(),
    "TIMESTAMP": pa.timestamp("us"),
    "VARCHAR[]": pa.list_(pa.string()),
}


_CONTEXT = decimal.Context(prec=100, rounding=decimal.ROUND_HALF_UP)


def decimal_arithmetic(left: str, operator: str, right: str, precision: int, scale: int) -> str | None:
    """`left operator right` rounded to the scale; NULL where the digits pass the precision, or by zero."""
    one, other = decimal.Decimal(left), decimal.Decimal(right)
    if operator in ("/", "%", "div") and not other:
        return None
    match operator:
        case "+":
            value = _CONTEXT.add(one, other)
        case "-":
            value = _CONTEXT.subtract(one, other)
        case "*":
            value = _CONTEXT.multiply(one, other)
        case "/":
            value = _CONTEXT.divide(one, other)
        case "div":
            value = _CONTEXT.divide_int(one, other)
        case _:
            value = _CONTEXT.remainder(one, other)
    digits = int(value.scaleb(scale, _CONTEXT).to_integral_value(decimal.ROUND_HALF_UP, _CONTEXT))
    return None if abs(digits) >= 10**precision else f"{decimal.Decimal(digits).scaleb(-scale, _CONTEXT):f}"


def java_double_text(value: float) -> str:
    """Double.toString: 1.0E10, 1.0E-5, NaN, Infinity."""
    return _java_text(value, repr(value))


def java_float_text(value: float) -> str:
    """Float.toString of a value that came from 32 bits: the fewest digits that tell it from its neighbours."""
    if math.isnan(value) or value in (float("inf"), float("-inf")):
        return _java_text(value, repr(value))
    bits = struct.pack("f", value)
    text = next((f"{value:.{digits}g}" for digits in range(1, 10) if struct.pack("f", _fit(value, digits)) == bits), "")
    return _java_text(value, repr(float(text)))


def _fit(value: float, digits: int) -> float:
    return max(min(float(f"{value:.{digits}g}"), 3.4028234e38), -3.4028234e38)


def _java_text(value: float, text: str) -> str:
    if math.isnan(value):
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return text if "." in text else text + ".0"
    sign, digits, exponent = decimal.Decimal(text).normalize().as_tuple()
    figures = "".join(map(str, digits))
    power = len(figures) - 1 + int(exponent)
    return f"{'-' if sign else ''}{figures[0]}.{figures[1:] or '0'}E{power}"


def rlike(text: str, pattern: str) -> bool:
    return compile_java(pattern).search(text) is not None


def regexp_replace(text: str, pattern: str, replacement: str) -> str:
    parts = python_template(replacement)

    def expand(match: re.Match[str]) -> str:
        return "".join(
            (match.group(part) or "")
            if isinstance(part, int)
            else (match.group(part[1:]) or "")
            if part.startswith("\x00")
            else part
            for part in parts
        )

    return compile_java(pattern).sub(expand, text)


def regexp_extract(text: str, pattern: str, group: int) -> str:
    match = compile_java(pattern).search(text)
    return (match.group(group) or "") if match else ""


def regexp_extract_all(text: str, pattern: str, group: int) -> list[str]:
    return [match.group(group) or "" for match in compile_java(pattern).finditer(text)]


def split(text: str, pattern: str, limit: int) -> list[str]:
    """String.split(pattern, limit) with trailing empty strings kept."""
    parts: list[str] = []
    start = 0
    for match in compile_java(pattern).finditer(text):
        if limit > 0 and len(parts) == limit - 1:
            break
        if match.end() == 0 or (match.start() == match.end() == len(text)):
            continue
        parts.append(text[start : match.start()])
        start = match.end()
    parts.append(text[start:])
    return [*parts, ""] if compile_java(pattern).fullmatch("") and text and limit <= 0 else parts


def date_format(value: datetime.datetime, pattern: str) -> str:
    return format_time(value, pattern)


def crc32(data: bytes) -> int:
    return zlib.crc32(data)


def sha2(data: bytes, bits: int) -> str | None:
    name = {0: "sha256", 224: "sha224", 256: "sha256", 384: "sha384", 512: "sha512"}.get(bits)
    return hashlib.new(name, data).hexdigest() if name else None


def unhex(text: str) -> bytes | None:
    try:
        return bytes.fromhex("0" * (len(text) % 2) + text) if not re.search(r"\s", text) else None
    except ValueError:
        return None


def unbase64(text: str) -> bytes | None:
    import base64

    try:
        return base64.b64decode(re.sub(r"\s", "", text) + "=" * (-len(text) % 4))
    except ValueError:
        return None


def initcap(text: str) -> str:
    """Upper case after white space, lower case elsewhere."""
    return "".join(word[:1].upper() + word[1:].lower() for word in re.split(r"(\s)", text))


_SOUNDEX_CLASSES = ("AEIOUY", "HW", "BFPV", "CGJKQSXZ", "DT", "L", "MN", "R")
_SOUNDEX = {letter: code for code, letters in enumerate(_SOUNDEX_CLASSES) for letter in letters}


def soundex(text: str) -> str:
    """American Soundex; a text that does not begin with a letter comes back as it is."""
    upper = text.upper()
    if not upper or not "A" <= upper[0] <= "Z":
        return text
    result, last = upper[0], _SOUNDEX[upper[0]]
    for char in upper[1:]:
        code = _SOUNDEX.get(char, 0)
        if code == 1 and char in "HW":
            continue
        if code > 1 and code != last:
            result += str(code - 1)
        last = code
    return (result + "000")[:4]


_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def conv(text: str, source: int, target: int) -> str | None:
    """Unsigned 64-bit conversion of the longest valid prefix; a negative target base means signed output."""
    if not (2 <= source <= 36 and 2 <= abs(target) <= 36) or not text.strip():
        return None
    stripped = text.strip().upper()
    negative, value = stripped.startswith("-"), 0
    for char in stripped.removeprefix("-"):
        digit = _DIGITS.find(char)
        if not 0 <= digit < source:
            break
        value = value * source + digit
    limit = (1 << 64) - 1
    value = min(value, limit)
    if negative:
        value = value if target < 0 else (limit + 1 - value) & limit
    elif target < 0 and value > (1 << 63) - 1:
        value, negative = (1 << 64) - value, True
    sign = "-" if negative and target < 0 and value else ""
    return sign + _to_base(value, abs(target))


def _to_base(value: int, base: int) -> str:
    digits = ""
    while value:
        value, digit = divmod(value, base)
        digits = _DIGITS[digit] + digits
    return digits or "0"


_JSON_STEP = re.compile(r"\.\s*([^.\[\]]+)|\[(\d+|\*|'[^']*')\]")


def get_json_object(text: str, path: str) -> str | None:
    """The part of a JSON text that a path names: $, .name, [n], [*]."""
    if not path.startswith("$"):
        return None
    steps, position = [], 1
    while position < len(path):
        match = _JSON_STEP.match(path, position)
        if match is None:
            return None
        steps.append(match)
        position = match.end()
    try:
        found = [json.loads(text, parse_float=decimal.Decimal)]
    except ValueError:
        return None
    many = False
    for step in steps:
        many = many or step.group(2) == "*"
        found = [item for value in found for item in _json_step(value, step)]
    if not found or (not many and found[0] is None):
        return None
    return _json_text(found if many and len(found) > 1 else found[0])


def _json_step(value: Any, step: re.Match[str]) -> list[Any]:
    name, index = step.groups()
    if index == "*":
        return value if isinstance(value, list) else []
    if index is not None and index.isdigit():
        return value[int(index) : int(index) + 1] if isinstance(value, list) else []
    key = name if name is not None else index.strip("'")
    if isinstance(value, list):
        return [item[key] for item in value if isinstance(item, dict) and key in item]
    return [value[key]] if isinstance(value, dict) and key in value else []


def _json_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return _json_dump(value)


def _json_dump(value: object) -> str:
    match value:
        case dict():
            return "{" + ",".join(f"{_json_dump(str(key))}:{_json_dump(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ",".join(map(_json_dump, value)) + "]"
        case decimal.Decimal():
            return str(value)
    return json.dumps(value, ensure_ascii=False)


def parse_url(url: str, part: str, key: str) -> str | None:
    """java.net.URL's parts: HOST PATH QUERY REF PROTOCOL AUTHORITY FILE USERINFO; QUERY with a key."""
    match = re.fullmatch(r"(?s)([A-Za-z][A-Za-z0-9+.-]*):(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", url)
    if match is None:
        return None
    protocol, authority, path, query, ref = match.groups()
    user, _, host = (authority or "").rpartition("@")
    match part:
        case "PROTOCOL":
            return protocol
        case "HOST":
            return re.sub(r":\d*$", "", host) if authority is not None else None
        case "PATH":
            return path
        case "REF":
            return ref
        case "AUTHORITY":
            return authority
        case "USERINFO":
            return user or None
        case "FILE":
            return path if query is None else f"{path}?{query}"
        case "QUERY" if key:
            found = re.search(rf"(?:^|&){re.escape(key)}=([^&]*)", query or "")
            return found.group(1) if found else None
        case "QUERY":
            return query
    return None


def format_number(value: str, places: int) -> str | None:
    if places < 0:
        return None
    number = decimal.Decimal(value)
    if not number.is_finite():
        return {"NaN": "NaN", "Infinity": "∞", "-Infinity": "-∞"}[value]
    rounded = _CONTEXT.quantize(number, decimal.Decimal(1).scaleb(-places))
    return f"{rounded or rounded.copy_abs():,f}"


def java_hash(text: str) -> int:
    """Hive's hash of a string: 31 * h + byte over its UTF-8 bytes, as a 32-bit integer."""
    value = 0
    for byte in text.encode():
        value = (value * 31 + (byte - 256 if byte > 127 else byte)) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value


def double_bits(value: float) -> int:
    return int.from_bytes(struct.pack(">d", value + 0.0), "big", signed=True)


def zone_shift(value: datetime.datetime, zone: str, to_utc: bool) -> datetime.datetime | None:
    """A time in UTC as the clock of `zone` shows it, or back."""
    import zoneinfo

    offset = re.fullmatch(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?", zone)
    if offset:
        shift = datetime.timedelta(hours=int(offset.group(2)), minutes=int(offset.group(3) or 0))
        return value - shift if (offset.group(1) == "+") == to_utc else value + shift
    names = {"PST": "America/Los_Angeles", "CST": "America/Chicago", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo"}
    try:
        info = zoneinfo.ZoneInfo(names.get(zone, zone))
    except (zoneinfo.ZoneInfoNotFoundError, ValueError):
        return None
    if to_utc:
        return value.replace(tzinfo=info).astimezone(datetime.UTC).replace(tzinfo=None)
    return value.replace(tzinfo=datetime.UTC).astimezone(info).replace(tzinfo=None)


def printf(template: str, values: list[str]) -> str:
    """java.util.Formatter for %d %s %f %x %e %c %b %n %%, its arguments as text."""
    position = -1

    def expand(match: re.Match[str]) -> str:
        nonlocal position
        index, flags, width, precision, kind = match.groups()
        if kind in "n%":
            return "\n" if kind == "n" else "%"
        position += 1
        value = values[int(index[:-1]) - 1 if index else position]
        return _format_one(value, flags, width, precision, kind)

    return re.sub(r"%(\d+\$)?([-#+ 0,(]*)(\d+)?(\.\d+)?([a-zA-Z%])", expand, template)


_NO_NUMBERS = ("null", "NaN", "Infinity", "-Infinity")


def levenshtein(left: str, right: str) -> int:
    """Insertions, removals and replacements of characters that make one string the other."""
    previous = list(range(len(right) + 1))
    for row, one in enumerate(left, 1):
        current = [row]
        for column, other in enumerate(right, 1):
            replaced = previous[column - 1] + (one != other)
            current.append(min(previous[column] + 1, current[column - 1] + 1, replaced))
        previous = current
    return previous[-1]


def _format_one(value: str, flags: str, width: str | None, precision: str | None, kind: str) -> str:
    pattern = flags.replace("-", "").replace("#", "").replace("(", "")
    match kind:
        case "d" | "x" | "X" | "f" | "e" | "E" if value in _NO_NUMBERS:
            text = value if precision is None else value[: int(precision[1:])]
        case "d":
            text = f"{int(value):{'+' if '+' in pattern else ''}{',' if ',' in pattern else ''}d}"
        case "f" | "e" | "E":
            sign, comma = "+" if "+" in pattern else "", "," if "," in pattern else ""
            text = f"{decimal.Decimal(value):{sign}{comma}{precision or '.6'}{kind}}"
        case "x" | "X":
            text = f"{int(value):{kind}}"
        case "b" | "B":
            text = value.lower()
        case _:
            text = value if precision is None else value[: int(precision[1:])]
            text = text.upper() if kind == "S" else text
    if width is None:
        return text
    if "-" in flags:
        return text.ljust(int(width))
    return text.zfill(int(width)) if "0" in flags else text.rjust(int(width))


def printf_columns(template: str, *values: str) -> str:
    return printf(template, list(values))


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
    Kernel("shark_date_format", ("TIMESTAMP", "VARCHAR"), "VARCHAR", date_format),
    Kernel("shark_parse_time", ("VARCHAR", "VARCHAR"), "TIMESTAMP", parse_time),
    Kernel("shark_levenshtein", ("VARCHAR", "VARCHAR"), "INTEGER", levenshtein),
    Kernel("shark_crc32", ("BLOB",), "BIGINT", crc32),
    Kernel("shark_sha2", ("BLOB", "INTEGER"), "VARCHAR", sha2),
    Kernel("shark_unhex", ("VARCHAR",), "BLOB", unhex),
    Kernel("shark_unbase64", ("VARCHAR",), "BLOB", unbase64),
    Kernel("shark_initcap", ("VARCHAR",), "VARCHAR", initcap),
    Kernel("shark_soundex", ("VARCHAR",), "VARCHAR", soundex),
    Kernel("shark_conv", ("VARCHAR", "INTEGER", "INTEGER"), "VARCHAR", conv),
    Kernel("shark_get_json_object", ("VARCHAR", "VARCHAR"), "VARCHAR", get_json_object),
    Kernel("shark_parse_url", ("VARCHAR", "VARCHAR", "VARCHAR"), "VARCHAR", parse_url),
    Kernel("shark_format_number", ("VARCHAR", "INTEGER"), "VARCHAR", format_number),
    Kernel("shark_java_hash", ("VARCHAR",), "INTEGER", java_hash),
    Kernel("shark_double_bits", ("DOUBLE",), "BIGINT", double_bits),
    Kernel("shark_zone_shift", ("TIMESTAMP", "VARCHAR", "BOOLEAN"), "TIMESTAMP", zone_shift),
    *(Kernel(f"shark_printf{count}", ("VARCHAR",) * (count + 1), "VARCHAR", printf_columns) for count in range(1, 9)),
)
