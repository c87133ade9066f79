"""JSON in strings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sharkpy.udf.from_json import FROM_JSON
from sharkpy.udf.function import NullPolicy, ScalarFunction
from sharkpy.udf.literals import quote_string, string_value
from sharkpy.udf.signatures import Types, returns, takes
from sharkpy.values.types import STRING, DataType

_SIMPLE_PATH = re.compile(r"\$(?:\.[A-Za-z_]\w*|(?<!\])\[\d{1,9}\])+", re.ASCII)


def lower_get_json_object(args: Sequence[str], _types: Types, _result: DataType) -> str:
    """Lower get_json_object to DuckDB's JSON reader for paths of names and indexes.

    A kernel handles wildcards, texts that only Jackson accepts as JSON, and names that DuckDB did not find, since Hive
    steps into lists there.
    """
    path = string_value(args[1])
    kernel = f"shark_get_json_object({args[0]}, {args[1]})"
    if path is None or not _SIMPLE_PATH.fullmatch(path):
        return kernel
    found = f"json_extract_string({args[0]}, {quote_string(path)})"
    if path.count(".") > 1 or "]." in path:
        found = f"coalesce({found}, {kernel})"
    return f"CASE WHEN json_valid({args[0]}) THEN {found} ELSE {kernel} END"


JSON_FUNCTIONS = (
    FROM_JSON,
    ScalarFunction(
        "get_json_object",
        takes(STRING, STRING),
        returns(STRING),
        lower_get_json_object,
        NullPolicy.CUSTOM,
        usage="get_json_object(json, path)",
        doc="the part of a JSON text at a path such as $.a[0].b; [*] takes all",
        example="get_json_object('{\"a\": [1, 2]}', '$.a[1]')",
        answer="2",
    ),
)
