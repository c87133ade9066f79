"""The xpath functions. NULL or empty texts and invalid paths give NULL. A text that is not XML is an error."""

from __future__ import annotations

from sharkpy.udf.casts import wrap_integer
from sharkpy.udf.function import ScalarFunction
from sharkpy.udf.signatures import returns, takes
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, SMALLINT, STRING, ArrayType, DataType

_INTEGER = "shark_xpath_int({0}, {1})"


def _row(
    name: str,
    result: DataType,
    lowering: str,
    *,
    doc: str,
    example: str = "",
    answer: str,
    aliases: tuple[str, ...] = (),
) -> ScalarFunction:
    """A function of an XML text and an XPath. The default example is for numbers."""
    return ScalarFunction(
        name,
        takes(STRING, STRING),
        returns(result),
        lowering,
        usage=f"{name}(xml, path)",
        doc=doc,
        example=example or f"{name}('<a><b>1</b><b>2</b></a>', 'sum(a/b)')",
        answer=answer,
        aliases=aliases,
    )


XML_FUNCTIONS = (
    _row(
        "xpath",
        ArrayType(STRING),
        "shark_xpath({0}, {1})",
        doc="the values of the texts and attributes that match an XPath",
        example="xpath('<a><b>b1</b><b>b2</b></a>', 'a/b/text()')",
        answer='["b1","b2"]',
    ),
    _row(
        "xpath_string",
        STRING,
        "shark_xpath_string({0}, {1})",
        doc="the text of the first node that matches an XPath",
        example="xpath_string('<a><b>b1</b><b>b2</b></a>', 'a/b[2]')",
        answer="b2",
    ),
    _row(
        "xpath_boolean",
        BOOLEAN,
        "shark_xpath_boolean({0}, {1})",
        doc="whether an XPath matches or is true",
        example="xpath_boolean('<a><b>1</b></a>', 'a/b = 2')",
        answer="false",
    ),
    _row(
        "xpath_double",
        DOUBLE,
        "shark_xpath_double({0}, {1})",
        doc="the number that an XPath gives; NaN for none",
        answer="3.0",
        aliases=("xpath_number",),
    ),
    _row(
        "xpath_float",
        FLOAT,
        "shark_double_to_float(shark_xpath_double({0}, {1}))",
        doc="the number that an XPath gives; NaN for none",
        answer="3.0",
    ),
    _row(
        "xpath_long",
        BIGINT,
        "shark_xpath_long({0}, {1})",
        doc="the whole number that an XPath gives; 0 for none",
        answer="3",
    ),
    _row(
        "xpath_int",
        INT,
        _INTEGER,
        doc="the whole number that an XPath gives; 0 for none",
        answer="3",
    ),
    _row(
        "xpath_short",
        SMALLINT,
        wrap_integer(f"CAST({_INTEGER} AS BIGINT)", SMALLINT),
        doc="the whole number that an XPath gives; 0 for none",
        answer="3",
    ),
)
