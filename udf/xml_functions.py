"""The xpath functions. NULL or empty texts and paths that are no XPath give NULL; a text that is no XML is an error."""

from __future__ import annotations

from sharkpy.udf.casts import wrap_integer
from sharkpy.udf.function import ScalarFunction
from sharkpy.udf.signatures import returns, takes
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, SMALLINT, STRING, ArrayType, DataType

_INTEGER = "shark_xpath_int({0}, {1})"
_SUM = "xpath_{}('<a><b>1</b><b>2</b></a>', 'sum(a/b)')"


def _row(name: str, result: DataType, lowering: str, doc: str, example: str = "") -> ScalarFunction:
    example = example or _SUM.format(name.removeprefix("xpath_"))
    return ScalarFunction(name, takes(STRING, STRING), returns(result), lowering, doc=doc, example=example)


XML_FUNCTIONS = (
    _row(
        "xpath",
        ArrayType(STRING),
        "shark_xpath({0}, {1})",
        "the values of the texts and attributes that match an XPath",
        "xpath('<a><b>b1</b><b>b2</b></a>', 'a/b/text()')",
    ),
    _row(
        "xpath_string",
        STRING,
        "shark_xpath_string({0}, {1})",
        "the text of the first node that matches an XPath",
        "xpath_string('<a><b>b1</b><b>b2</b></a>', 'a/b[2]')",
    ),
    _row(
        "xpath_boolean",
        BOOLEAN,
        "shark_xpath_boolean({0}, {1})",
        "whether an XPath matches or is true",
        "xpath_boolean('<a><b>1</b></a>', 'a/b = 2')",
    ),
    _row("xpath_double", DOUBLE, "shark_xpath_double({0}, {1})", "the number that an XPath gives; NaN for none"),
    _row(
        "xpath_float",
        FLOAT,
        "shark_double_to_float(shark_xpath_double({0}, {1}))",
        "the number that an XPath gives; NaN for none",
    ),
    _row("xpath_long", BIGINT, "shark_xpath_long({0}, {1})", "the whole number that an XPath gives; 0 for none"),
    _row("xpath_int", INT, _INTEGER, "the whole number that an XPath gives; 0 for none"),
    _row(
        "xpath_short",
        SMALLINT,
        wrap_integer(f"CAST({_INTEGER} AS BIGINT)", SMALLINT),
        "the whole number that an XPath gives; 0 for none",
    ),
)
