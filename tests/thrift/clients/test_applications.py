"""Programs as people have them, run against one server twice in a row: the second run meets what the first has left."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pytest
import sqlalchemy as sa

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*supports_statement_cache:sqlalchemy.exc.SAWarning"),
    pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SADeprecationWarning"),
]


@pytest.fixture
def engine(port: int) -> Iterator[sa.Engine]:
    made = sa.create_engine(f"hive://tester@127.0.0.1:{port}/default")
    yield made
    made.dispose()


def test_a_program_of_sqlalchemy(engine: sa.Engine) -> None:
    metadata = sa.MetaData(schema="shop")
    orders = sa.Table(
        *("orders", metadata, sa.Column("from", sa.Integer), sa.Column("order", sa.String)),
        *(sa.Column("Total", sa.Float), sa.Column("user id", sa.String)),
    )
    with engine.connect() as connection:
        connection.execute(sa.text("CREATE DATABASE IF NOT EXISTS shop"))
    for run in range(2):
        metadata.create_all(engine)
        rows = [{"from": n, "order": f"it's {n}", "Total": n / 4, "user id": None} for n in range(20)]
        with engine.begin() as connection:
            connection.execute(orders.insert(), rows[:1])
            connection.execute(orders.insert().values(rows[1:]))
            found = connection.execute(sa.select(orders).order_by(orders.c["from"])).all()
            assert [tuple(row) for row in found] == [tuple(row.values()) for row in rows], run
            wanted = sa.select(sa.func.count()).where(orders.c.order == "it's 3", orders.c["user id"].is_(None))
            assert connection.scalar(wanted) == 1
        frame = pd.read_sql(sa.select(orders.c.Total).where(orders.c["from"].in_([1, 2])), engine)
        assert sorted(frame.iloc[:, 0]) == [0.25, 0.5]
        reflected = sa.Table("orders", sa.MetaData(), schema="shop", autoload_with=engine)
        assert [column.name for column in reflected.columns] == ["from", "order", "total", "user id"]
        metadata.drop_all(engine)
        assert not sa.inspect(engine).has_table("orders", schema="shop")
    with engine.connect() as connection:
        connection.execute(sa.text("DROP DATABASE shop"))


def test_an_inspection_as_of_dashboards(engine: sa.Engine) -> None:
    """All that is there, each with its columns, first rows, definition and plan, as Superset and its like ask."""
    seen: list[list[tuple[str, str, tuple[str, ...]]]] = []
    for _ in range(2):
        inspector, found = sa.inspect(engine), []
        for schema in inspector.get_schema_names():
            if schema in ("sys", "information_schema"):
                continue
            for name in {*inspector.get_table_names(schema), *inspector.get_view_names(schema)}:
                columns = tuple(column["name"] for column in inspector.get_columns(name, schema))
                found.append((schema, name, columns))
                with engine.connect() as connection:
                    rows = pd.read_sql(sa.text(f"SELECT * FROM `{schema}`.`{name}` LIMIT 100"), connection)
                    assert len(rows.columns) == len(columns)
                    sub = f"SELECT count(*) AS `COUNT(*)` FROM (SELECT * FROM `{schema}`.`{name}`) AS virtual_table"
                    assert connection.scalar(sa.text(f"{sub} LIMIT 50000")) >= len(rows)
                    assert connection.execute(sa.text(f"SHOW CREATE TABLE `{schema}`.`{name}`")).all()
                    assert connection.execute(sa.text(f"EXPLAIN SELECT * FROM `{schema}`.`{name}`")).all()
        seen.append(sorted(found))
    assert seen[0] == seen[1]
    assert {("default", "every"), ("default", "seen"), ("other", "elsewhere")} <= {one[:2] for one in seen[0]}
