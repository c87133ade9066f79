"""The xpath functions: XPath 1.0 over XML texts, by libxml2.

A path is evaluated from the document, as in Java's XPath. lxml starts at the root element, so relative paths are made
absolute first. External entities are not read. NULL or empty texts and invalid paths give NULL. A text that is not XML
is an error.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache
from typing import Any

from sharkpy.base.errors import ExecutionError, ResourceError
from sharkpy.udf.casts import wrap_integer
from sharkpy.udf.function import ScalarFunction
from sharkpy.udf.signatures import returns, takes
from sharkpy.values.types import BIGINT, BOOLEAN, DOUBLE, FLOAT, INT, SMALLINT, STRING, ArrayType, DataType

_TOKEN = re.compile(
    r"""(?P<token>"[^"]*"|'[^']*'|\d+(?:\.\d*)?|\.\d+|::|//|\.\.|!=|<=|>="""
    r"""|[^\W\d][\w.-]*(?::(?!:)(?:[^\W\d][\w.-]*|\*))?|\S)"""
)
_OPERATOR_NAMES = ("and", "or", "div", "mod")
_NODE_TYPES = ("text", "node", "comment", "processing-instruction")
_AFTER = ("", "(", ",", "+", "-", "*", "=", "!=", "<", "<=", ">", ">=", "|", *_OPERATOR_NAMES)
"""The tokens after which an operand starts. `*` and the names only count if they are operators."""
_FAR_AXES = ("preceding", "following", "preceding-sibling", "following-sibling")
_MOST_PATH = 1000
_MOST_VISITS = 100_000_000
"""Visits of nodes that one evaluation may need: about a second of work."""
_STEPS_TOO = ("*", *_OPERATOR_NAMES)


def absolute(path: str) -> str:
    """Add a slash before each relative location path outside of predicates."""
    tokens = [match.group("token") for match in _TOKEN.finditer(path)]
    parts: list[str] = []
    depth, starts = 0, True
    for index, token in enumerate(tokens):
        is_name = token[0].isalpha() or token[0] == "_"
        if starts and depth == 0 and _begins_relative(token, tokens[index + 1 : index + 2]):
            parts.append("/")
        depth += (token == "[") - (token == "]")
        is_operand = not starts
        parts.append(f" {token} " if is_name and is_operand and token in _OPERATOR_NAMES else token)
        starts = token in _AFTER and not (token in _STEPS_TOO and _is_step(parts, is_operand))
    return "".join(parts)


def _is_step(parts: list[str], is_operand: bool) -> bool:
    """Return whether the last of `parts`, `*` or a word such as div, is a step of a path and not an operator."""
    before = parts[-2].strip() if len(parts) > 1 else ""
    return not is_operand or before in ("/", "//", "::", "@")


def _begins_relative(token: str, following: list[str]) -> bool:
    if token in ("@", "*", ".", ".."):
        return True
    if not (token[0].isalpha() or token[0] == "_"):
        return False
    return following != ["("] or token in _NODE_TYPES


@lru_cache(maxsize=256)
def _passes(path: str) -> int:
    """Return the depth of nested passes over the document, for predicates with paths from its root, and axes to
    preceding or following nodes.
    """
    tokens = [match.group("token") for match in _TOKEN.finditer(path)]
    passes, depth = 1, 0
    for before, token in zip(["", *tokens], tokens, strict=False):
        depth += (token == "[") - (token == "]")
        passes += depth > 0 and token in ("/", "//") and before in ("[", *_AFTER)
        passes += token in _FAR_AXES
    return passes


def _check_work(xml: str, path: str) -> None:
    """Refuse an evaluation that would take too long, since libxml2 cannot be cancelled."""
    if len(path) > _MOST_PATH:
        raise ExecutionError(f"xpath: a path of {len(path)} characters", hint=f"at most {_MOST_PATH}", sqlstate="54001")
    passes, tags = _passes(path), xml.count("<")
    if passes > 1 and tags**passes > _MOST_VISITS:
        raise ResourceError(
            f'xpath: "{path}" goes over {tags} tags for each of them, {passes} times within one another',
            hint="parts of the path that begin at the root, or lead to preceding or following nodes, cost most",
            sqlstate="54001",
        )


@lru_cache(maxsize=256)
def _compiled(path: str, function: str) -> Any:
    """Compile the path to an evaluator, inside of `function` if given, or return None if it is not a valid XPath."""
    from lxml import etree

    try:
        expression = absolute(path)
        etree.XPath(expression)
        return etree.XPath(f"{function}({expression})" if function else expression)
    except etree.XPathError:
        return None


def _evaluate(xml: str, path: str, function: str) -> Any:
    from lxml import etree

    if not xml or not path:
        return None
    _check_work(xml, path)
    evaluator = _compiled(path, function)
    if evaluator is None:
        return None
    parser = etree.XMLParser(encoding="utf-8", resolve_entities="internal", no_network=True, load_dtd=False)
    try:
        return evaluator(etree.ElementTree(etree.fromstring(xml.encode(), parser)))
    except etree.XMLSyntaxError as error:
        raise ExecutionError(f"xpath: the text is not XML: {error.msg}", sqlstate="2200M") from None
    except etree.XPathError as error:
        raise ExecutionError(f'xpath: "{path}" cannot be evaluated: {error}', sqlstate="10608") from None


def xpath(xml: str, path: str) -> list[str]:
    """Return the values of the matching texts and attributes; elements have none."""
    found = _evaluate(xml, path, "")
    if found is None:
        return []
    if not isinstance(found, list):
        raise ExecutionError(f'xpath: "{path}" gives no nodes', sqlstate="10608")
    return [str(node) for node in found if isinstance(node, str)]


def xpath_string(xml: str, path: str) -> str | None:
    found = _evaluate(xml, path, "string")
    return None if found is None else str(found)


def xpath_boolean(xml: str, path: str) -> bool | None:
    found = _evaluate(xml, path, "boolean")
    return None if found is None else bool(found)


def xpath_double(xml: str, path: str) -> float | None:
    """XPath's number() of the matches: NaN for a text that is not a number."""
    found = _evaluate(xml, path, "number")
    return None if found is None else float(found)


def xpath_int(xml: str, path: str) -> int | None:
    """The whole number as 32 bits, or the nearest value if it does not fit."""
    value = xpath_long(xml, path)
    return None if value is None else max(min(value, 2**31 - 1), -(2**31))


def xpath_long(xml: str, path: str) -> int | None:
    """The number as Java converts a double to a long: 0 for NaN, the nearest value if it does not fit."""
    value = xpath_double(xml, path)
    if value is None or math.isnan(value):
        return None if value is None else 0
    return int(max(min(value, float(2**63)), float(-(2**63)))) - (value >= float(2**63))


_INTEGER = "shark_xpath_int({0}, {1})"


def _xpath_function(
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
    _xpath_function(
        "xpath",
        ArrayType(STRING),
        "shark_xpath({0}, {1})",
        doc="the values of the texts and attributes that match an XPath",
        example="xpath('<a><b>b1</b><b>b2</b></a>', 'a/b/text()')",
        answer='["b1","b2"]',
    ),
    _xpath_function(
        "xpath_string",
        STRING,
        "shark_xpath_string({0}, {1})",
        doc="the text of the first node that matches an XPath",
        example="xpath_string('<a><b>b1</b><b>b2</b></a>', 'a/b[2]')",
        answer="b2",
    ),
    _xpath_function(
        "xpath_boolean",
        BOOLEAN,
        "shark_xpath_boolean({0}, {1})",
        doc="whether an XPath matches or is true",
        example="xpath_boolean('<a><b>1</b></a>', 'a/b = 2')",
        answer="false",
    ),
    _xpath_function(
        "xpath_double",
        DOUBLE,
        "shark_xpath_double({0}, {1})",
        doc="the number that an XPath gives; NaN for none",
        answer="3.0",
        aliases=("xpath_number",),
    ),
    _xpath_function(
        "xpath_float",
        FLOAT,
        "shark_double_to_float(shark_xpath_double({0}, {1}))",
        doc="the number that an XPath gives; NaN for none",
        answer="3.0",
    ),
    _xpath_function(
        "xpath_long",
        BIGINT,
        "shark_xpath_long({0}, {1})",
        doc="the whole number that an XPath gives; 0 for none",
        answer="3",
    ),
    _xpath_function("xpath_int", INT, _INTEGER, doc="the whole number that an XPath gives; 0 for none", answer="3"),
    _xpath_function(
        "xpath_short",
        SMALLINT,
        wrap_integer(f"CAST({_INTEGER} AS BIGINT)", SMALLINT),
        doc="the whole number that an XPath gives; 0 for none",
        answer="3",
    ),
)
