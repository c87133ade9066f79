"""Operators, a file a kind."""

from __future__ import annotations

from sharkpy.udf.operators.access import ACCESS
from sharkpy.udf.operators.arithmetic import ARITHMETIC
from sharkpy.udf.operators.bits import BITS
from sharkpy.udf.operators.conditions import CONDITIONS
from sharkpy.udf.operators.pattern_tests import PATTERN_TESTS

OPERATORS = (
    *ARITHMETIC,
    *CONDITIONS,
    *PATTERN_TESTS,
    *ACCESS,
    *BITS,
)
