"""Functions of Java's regular expressions."""

from __future__ import annotations

from sharkpy.udf.function import ScalarFunction
from sharkpy.udf.regexp_lowering import (
    lower_regexp_extract,
    lower_regexp_extract_all,
    lower_regexp_replace,
    lower_rlike,
    lower_split,
)
from sharkpy.udf.signatures import returns, takes
from sharkpy.udf.string_functions import string_function
from sharkpy.values.types import (
    BOOLEAN,
    INT,
    STRING,
    ArrayType,
)

_EXTRACT = takes(STRING, STRING, INT, optional=1)


REGEXP_FUNCTIONS = (
    string_function(
        "regexp_replace",
        lower_regexp_replace,
        STRING,
        STRING,
        INT,
        optional=1,
        usage="regexp_replace(str, pattern, replacement[, position])",
        doc="every match of a Java regular expression replaced, from a position on; $1 names a group",
        example="regexp_replace('100-200', '(\\\\d+)', 'num')",
        answer="num-num",
    ),
    ScalarFunction(
        "regexp_extract",
        _EXTRACT,
        returns(STRING),
        lower_regexp_extract,
        usage="regexp_extract(str, pattern[, group])",
        doc="a group (default 1) of the first match; '' if there is none",
        example="regexp_extract('100-200', '(\\\\d+)-(\\\\d+)', 2)",
        answer="200",
    ),
    ScalarFunction(
        "regexp_extract_all",
        _EXTRACT,
        returns(ArrayType(STRING)),
        lower_regexp_extract_all,
        usage="regexp_extract_all(str, pattern[, group])",
        doc="a group (default 1) of every match",
        example="regexp_extract_all('1a2b', '(\\\\d)', 1)",
        answer='["1","2"]',
    ),
    ScalarFunction(
        "regexp_like",
        takes(STRING, STRING),
        returns(BOOLEAN),
        lower_rlike,
        usage="regexp_like(str, pattern)",
        doc="whether a part matches",
        example="regexp_like('abc', 'b')",
        answer="true",
    ),
    ScalarFunction(
        "split",
        takes(STRING, STRING, INT, optional=1),
        returns(ArrayType(STRING)),
        lower_split,
        usage="split(str, pattern[, limit])",
        doc="parts between matches of a regular expression",
        example="split('a,b', ',')",
        answer='["a","b"]',
    ),
)
