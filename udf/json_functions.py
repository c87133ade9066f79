"""JSON and URLs in strings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sharkpy.types import STRING, DataType
from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.literals import quote_string, string_value
from sharkpy.udf.signatures import Types, returns, takes

_SIMPLE_PATH = re.compile(r"\$(?:\.[A-Za-z_]\w*|\[\d+\])*")


def lower_get_json_object(args: Sequence[str], _types: Types, _result: DataType) -> str:
    """DuckDB's JSON reader for paths of names and indexes; a kernel for wildcards, lists stepped into, the rest."""
    path = string_value(args[1])
    if path is None or not _SIMPLE_PATH.fullmatch(path):
        return f"shark_get_json_object({args[0]}, {args[1]})"
    return f"json_extract_string(shark_json({args[0]}), {quote_string(path)})"


def _parse_url(args: Sequence[str], _types: Types, _result: DataType) -> str:
    key = args[2] if len(args) > 2 else "''"
    return f"shark_parse_url({args[0]}, {args[1]}, {key})"


JSON_FUNCTIONS = (
    ScalarFunction(
        "get_json_object",
        takes(STRING, STRING),
        returns(STRING),
        lower_get_json_object,
        NullPolicy.CUSTOM,
        doc="the part of a JSON text at a path such as $.a[0].b; [*] takes all",
        example="get_json_object('{\"a\": [1, 2]}', '$.a[1]')",
    ),
    ScalarFunction(
        "parse_url",
        takes(STRING, STRING, STRING, optional=1),
        returns(STRING),
        _parse_url,
        NullPolicy.CUSTOM,
        doc="a part of a URL: HOST, PATH, QUERY (with a key), REF, PROTOCOL, AUTHORITY, FILE, USERINFO",
        example="parse_url('http://a.b/c?k=v', 'QUERY', 'k')",
    ),
    ScalarFunction(
        "url_encode",
        takes(STRING),
        returns(STRING),
        "replace(url_encode({0}), '%20', '+')",
        doc="for use in a URL",
        example="url_encode('a b')",
    ),
    ScalarFunction(
        "url_decode",
        takes(STRING),
        returns(STRING),
        "url_decode(replace({0}, '+', ' '))",
        doc="text of a URL's part",
        example="url_decode('a+b')",
    ),
)
