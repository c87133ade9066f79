"""The expressions' expected answers are Spark SQL's too, unless a row says why not."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.udf.expressions import CASES
from tests.udf.test_expressions import same

pytestmark = pytest.mark.spark


def test_answers_are_spark_answers(spark_sql: SparkSession) -> None:
    texts = [(text, expected) for text, expected, reason in CASES if not reason]
    differing = []
    for start in range(0, len(texts), 60):
        part = texts[start : start + 60]
        answers = list(spark_sql.sql("SELECT " + ", ".join(text for text, _ in part)).first() or ())
        differing += [
            (text, expected, answer)
            for (text, expected), answer in zip(part, answers, strict=True)
            if not same(answer, expected)
        ]
    assert differing == []
