"""Constraints as metadata calls tell them."""

from __future__ import annotations

from typing import Any

import pytest

import sharkpy
from sharkpy.thrift import metadata
from sharkpy.thrift.bindings import ttypes


@pytest.fixture
def context(context: sharkpy.SharkContext) -> sharkpy.SharkContext:
    context.sql("""
        CREATE TABLE parent (a INT, b INT, CONSTRAINT pk PRIMARY KEY (a, b) DISABLE NOVALIDATE);
        CREATE DATABASE d;
        CREATE TABLE d.child (x INT NOT NULL, y INT DEFAULT 7, z INT,
          CONSTRAINT fk FOREIGN KEY (x, y) REFERENCES default.parent (a, b) DISABLE NOVALIDATE)
    """)
    return context


def ask(context: sharkpy.SharkContext, call: str, *columns: str, **arguments: Any) -> list[tuple[Any, ...]]:
    _, table = metadata.answer(call, getattr(ttypes, f"T{call}Req")(**arguments), context)
    return [tuple(row[column] for column in columns) for row in table.to_pylist()]


def test_primary_keys(context: sharkpy.SharkContext) -> None:
    shown = ("TABLE_SCHEM", "TABLE_NAME", "COLUMN_NAME", "KEY_SEQ", "PK_NAME")
    expected = [("default", "parent", "a", 1, "pk"), ("default", "parent", "b", 2, "pk")]
    assert ask(context, "GetPrimaryKeys", *shown, schemaName="default", tableName="PARENT") == expected
    assert ask(context, "GetPrimaryKeys", *shown) == expected
    assert ask(context, "GetPrimaryKeys", *shown, schemaName="d", tableName="parent") == []
    assert ask(context, "GetPrimaryKeys", *shown, schemaName="nowhere") == []


@pytest.mark.parametrize(
    "names",
    [
        {"foreignSchemaName": "d", "foreignTableName": "child"},
        {"parentSchemaName": "default", "parentTableName": "parent"},
        {"parentSchemaName": "default", "parentTableName": "parent", "foreignTableName": "child"},
    ],
    ids=["imported", "exported", "both"],
)
def test_foreign_keys(context: sharkpy.SharkContext, names: dict[str, str]) -> None:
    shown = ("PKTABLE_NAME", "PKCOLUMN_NAME", "FKTABLE_SCHEM", "FKTABLE_NAME", "FKCOLUMN_NAME", "KEY_SEQ", "PK_NAME")
    assert ask(context, "GetCrossReference", *shown, **names) == [
        ("parent", "a", "d", "child", "x", 1, "pk"),
        ("parent", "b", "d", "child", "y", 2, "pk"),
    ]
    assert ask(context, "GetCrossReference", *shown, parentTableName="child") == []


def test_columns_tell_of_not_null_and_default(context: sharkpy.SharkContext) -> None:
    told = ask(context, "GetColumns", "COLUMN_NAME", "NULLABLE", "IS_NULLABLE", "COLUMN_DEF", tableName="child")
    assert told == [("x", 0, "NO", None), ("y", 1, "YES", "7"), ("z", 1, "YES", None)]
