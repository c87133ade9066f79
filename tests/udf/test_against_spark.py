"""The expressions' expected answers are Spark SQL's too, but where a row says why not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.udf.expressions import CASES
from tests.udf.test_expressions import same

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    session = (
        SparkSession.builder.master("local[1]")
        .config("spark.sql.ansi.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.legacy.sizeOfNull", "true")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    yield session
    session.stop()


def test_answers_are_spark_answers(spark: SparkSession) -> None:
    import os
    import time

    os.environ["TZ"] = "UTC"
    time.tzset()
    texts = [(text, expected) for text, expected, reason in CASES if not reason]
    differing = []
    for start in range(0, len(texts), 60):
        part = texts[start : start + 60]
        answers = list(spark.sql("SELECT " + ", ".join(text for text, _ in part)).first() or ())
        differing += [
            (text, expected, answer)
            for (text, expected), answer in zip(part, answers, strict=True)
            if not same(answer, expected)
        ]
    assert differing == []
