"""Operators, one file per kind."""

from __future__ import annotations

from sharkpy.udf.operators.access import ACCESS
from sharkpy.udf.operators.arithmetic import ARITHMETIC
from sharkpy.udf.operators.bits import BITS
from sharkpy.udf.operators.conditions import CONDITIONS
from sharkpy.udf.operators.pattern_tests import PATTERN_TESTS
from sharkpy.udf.operators.quantified import QUANTIFIED_COMPARISONS

OPERATORS = (
    *ARITHMETIC,
    *CONDITIONS,
    *QUANTIFIED_COMPARISONS,
    *PATTERN_TESTS,
    *ACCESS,
    *BITS,
)
