"""URLs: their parts, and text in them. DuckDB's regular expressions find parts whose name is constant."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sharkpy.udf.duckdb_sql import quote_string, string_value
from sharkpy.udf.function import NullPolicy
from sharkpy.udf.page import Page
from sharkpy.udf.signatures import Types, takes
from sharkpy.udf.text_codes import PROTOCOLS
from sharkpy.values.types import STRING, DataType

_URL = rf"(?s)^((?i:{'|'.join(PROTOCOLS)})):(//[^/?#]*)?([^?#]*)(\?[^#]*)?(#.*)?$"
_PLAIN_KEY = re.compile(r"[\w.\[\]-]{1,200}", re.ASCII)
"""Keys that RE2 always takes literally in a pattern."""
_PROTOCOL, _AUTHORITY, _PATH, _QUERY, _REF = range(1, 6)


def _group(url: str, number: int) -> str:
    return f"regexp_extract({url}, {quote_string(_URL)}, {number})"


def _behind(sql: str, mark: int) -> str:
    """Return the text after `mark` characters that mark a part, or NULL if the part is absent."""
    return f"substr(nullif({sql}, ''), {mark + 1})"


def _of_url(url: str, sql: str) -> str:
    """Return `sql`, which is never NULL, if the text is a URL."""
    return f"CASE WHEN regexp_matches({url}, {quote_string(_URL)}) THEN {sql} END"


def _part(url: str, part: str) -> str | None:
    """Return DuckDB SQL of a part by its name, or None for an unknown name."""
    authority = _behind(_group(url, _AUTHORITY), 2)
    match part:
        case "PROTOCOL":
            return f"nullif({_group(url, _PROTOCOL)}, '')"
        case "AUTHORITY":
            return authority
        case "HOST":
            return rf"regexp_replace(regexp_replace({authority}, '^.*@', '', 's'), ':\d*$', '')"
        case "USERINFO":
            return f"nullif(regexp_extract({authority}, '(?s)^(.*)@', 1), '')"
        case "PATH":
            return _of_url(url, _group(url, _PATH))
        case "FILE":
            return _of_url(url, f"{_group(url, _PATH)} || {_group(url, _QUERY)}")
        case "QUERY":
            return _behind(_group(url, _QUERY), 1)
        case "REF":
            return _behind(_group(url, _REF), 1)
    return None


def lower_parse_url(url: str, part: str, key: str | None) -> str:
    """Return SQL of parse_url. `key` is the name of a parameter, only for QUERY."""
    name, parameter = string_value(part), string_value(key) if key is not None else ""
    found = _part(url, name) if name is not None else None
    if found is None or parameter is None or (parameter and name != "QUERY"):
        return f"shark_parse_url({url}, {part}, {key if key is not None else chr(39) * 2})"
    if not parameter:
        return found
    if _PLAIN_KEY.fullmatch(parameter) is None:
        return f"shark_parse_url({url}, {part}, {key})"
    pattern = quote_string(f"(?s)(?:^|&){re.escape(parameter)}=([^&]*)")
    return f"CASE WHEN regexp_matches({found}, {pattern}) THEN regexp_extract({found}, {pattern}, 1) END"


def _parse_url(args: Sequence[str], _types: Types, _result: DataType) -> str:
    return lower_parse_url(args[0], args[1], args[2] if len(args) > 2 else None)


URL_FUNCTIONS = (
    Page(
        "parse_url(url, part[, key])",
        "a part of a URL: HOST, PATH, QUERY (with a key), REF, PROTOCOL, AUTHORITY, FILE, USERINFO",
        "parse_url('http://a.b/c?k=v', 'QUERY', 'k') -> v",
    ).scalar(
        takes(STRING, STRING, STRING, optional=1), STRING, _parse_url, NullPolicy.CUSTOM, aliases=("try_parse_url",)
    ),
    Page("url_encode(str)", "for use in a URL", "url_encode('a b') -> a+b").scalar(
        (STRING,), STRING, "replace(url_encode({0}), '%20', '+')"
    ),
    Page("url_decode(str)", "text of a URL's part", "url_decode('a+b') -> a b").scalar(
        (STRING,),
        STRING,
        "CASE WHEN contains({0}, '%') THEN shark_url_decode({0}) ELSE replace({0}, '+', ' ') END",
        aliases=("try_url_decode",),
    ),
    Page(
        "path_value(path, name)",
        "value of the last folder name=value in a path",
        "path_value('/in/dt=2026-05-01/a.json', 'dt') -> 2026-05-01",
    ).scalar((STRING, STRING), STRING, "shark_path_value({0}, {1})"),
)
