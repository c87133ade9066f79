"""TBLPROPERTIES of streams that are options of their source, and properties that would have no effect."""

from __future__ import annotations

from pathlib import Path

import pytest

import sharkpy
from sharkpy.base.errors import BindError
from tests.rows import rows


def made(context: sharkpy.SharkContext, clauses: str) -> str:
    context.sql(f"CREATE STREAM s (k STRING) {clauses}")
    return " ".join(str(row[0]).strip() for row in rows(context, "SHOW CREATE TABLE s"))


def test_options_among_properties_are_obeyed(context: sharkpy.SharkContext, folder: Path) -> None:
    properties = "TBLPROPERTIES ('Max.files.per.epoch' = '5', 'own' = 'kept', 'failOnDataLoss' = 'false')"
    shown = made(context, f"{properties} FROM FOLDER '{folder}' ('settle.ms' = '3')")
    assert shown.endswith(f"FROM FOLDER '{folder}' ( 'settle.ms'='3', 'max.files.per.epoch'='5')")
    assert "TBLPROPERTIES ( 'failOnDataLoss'='false', 'own'='kept')" in shown
    context.sql("ALTER TABLE s SET TBLPROPERTIES ('failOnDataLoss' = 'true', 'own' = 'x')")
    with pytest.raises(BindError, match="cannot be changed"):
        context.sql("ALTER TABLE s SET TBLPROPERTIES ('max.files.per.epoch' = '6')")
    with pytest.raises(BindError, match="an option of FROM KAFKA, not of a stream FROM FOLDER"):
        context.sql("ALTER TABLE s SET TBLPROPERTIES ('startingOffsets' = 'latest')")


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ("TBLPROPERTIES ('max.files.per.epoch' = 'x') FROM FOLDER 'in'", '"x" is not a value'),
        ("TBLPROPERTIES ('settle.ms' = '1') FROM FOLDER 'in' ('settle.ms' = '2')", "different value in TBLPROPERTIES"),
        ("TBLPROPERTIES ('startingOffsets' = 'latest') FROM FOLDER 'in'", "is an option of FROM KAFKA"),
        ("TBLPROPERTIES ('stream.new.column' = 'add') FROM FOLDER 'in'", 'did you mean "stream.new.columns"'),
        ("TBLPROPERTIES ('kafka.foo' = '1', 'topic' = 't', 'bootstrap.servers' = 'h:1') FROM KAFKA", "no option"),
        ("FROM KAFKA", "needs the option bootstrap.servers"),
    ],
)
def test_what_is_refused(context: sharkpy.SharkContext, clauses: str, message: str) -> None:
    with pytest.raises(BindError, match=message):
        made(context, clauses)


def test_options_of_kafka_among_properties(context: sharkpy.SharkContext) -> None:
    pytest.importorskip("confluent_kafka")
    names = "'topic' = 't', 'bootstrap.servers' = 'h:1', 'confluent.schema.id' = 'true', 'kafka.client.id' = 'x'"
    shown = made(context, f"TBLPROPERTIES ({names}) FROM KAFKA")
    assert "TBLPROPERTIES" not in shown
    assert "'confluent.schema.id'='true'" in shown
