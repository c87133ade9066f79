"""Operators, one file per kind."""

from __future__ import annotations

from sharkpy.udf.arithmetic_operators import ARITHMETIC, BITS
from sharkpy.udf.conditions import CONDITIONS, QUANTIFIED_COMPARISONS
from sharkpy.udf.nested_values import ACCESS
from sharkpy.udf.pattern_functions import PATTERN_TESTS

OPERATORS = (
    *ARITHMETIC,
    *CONDITIONS,
    *QUANTIFIED_COMPARISONS,
    *PATTERN_TESTS,
    *ACCESS,
    *BITS,
)
