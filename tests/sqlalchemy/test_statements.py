"""Statements of SQLAlchemy, the ORM and pandas, run."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pandas as pd
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import CompileError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.orm.exc import StaleDataError
from sqlalchemy.schema import CreateTable

metadata = sa.MetaData()
people = sa.Table(
    "People",
    metadata,
    sa.Column("id", sa.Integer, primary_key=True, comment="it's \\ a key"),
    sa.Column("Full Name", sa.String, nullable=False, key="name", index=True),
    sa.Column("height", sa.Float),
    sa.Column("pay", sa.Numeric(9, 2)),
    sa.Column("born", sa.Date),
    sa.Column("seen", sa.DateTime),
    sa.Column("here", sa.Boolean),
    sa.Column("photo", sa.LargeBinary),
    sa.Column("more", sa.JSON),
    sa.Column("team", sa.String),
    comment="who's who",
)
ROWS = [
    {
        "id": number,
        "name": f"it's \\{number} ?:%s\n",
        "height": number / 3,
        "pay": Decimal(number) / 4,
        "born": datetime.date(1990, 1, number),
        "seen": datetime.datetime(2024, 1, 1, 2, 3, 4, number),
        "here": number % 2 == 0,
        "photo": bytes([number, 0, 255]),
        "more": {"n": [number, None]},
        "team": "xyz"[number % 3],
    }
    for number in range(1, 7)
]


@pytest.fixture
def connection(engine: sa.Engine) -> sa.Connection:
    metadata.create_all(engine)
    with engine.connect() as opened:
        opened.execute(people.insert(), ROWS)
        yield opened


def test_create_and_drop(engine: sa.Engine) -> None:
    metadata.create_all(engine)
    metadata.create_all(engine)
    inspector = sa.inspect(engine)
    assert inspector.get_table_names() == ["people"]
    assert inspector.get_table_comment("people") == {"text": "who's who"}
    assert inspector.get_columns("people")[0]["comment"] == "it's \\ a key"
    metadata.drop_all(engine)
    metadata.drop_all(engine)
    assert sa.inspect(engine).get_table_names() == []


def test_storage(engine: sa.Engine) -> None:
    table = sa.Table(
        "stored",
        sa.MetaData(),
        sa.Column("k", sa.BigInteger),
        sa.Column("day", sa.Date, sharkpy_partition=True, comment="'"),
        prefixes=["EXTERNAL"],
        sharkpy_stored_as="ORC",
        sharkpy_location="/tmp/it's",
        sharkpy_properties={"shark.cache": "MEMORY"},
    )
    assert str(CreateTable(table).compile(engine)).split("\n")[1:-2] == [
        "CREATE EXTERNAL TABLE `stored` (",
        "\t`k` BIGINT",
        ")",
        "PARTITIONED BY (`day` DATE COMMENT '\\'')",
        "STORED AS ORC",
        "LOCATION '/tmp/it\\'s'",
        "TBLPROPERTIES ('shark.cache' = 'MEMORY')",
    ]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (sa.Column("k", sa.Integer, server_default="1"), 'DEFAULT of column "k"'),
        (sa.Column("k", sa.Integer, sa.Computed("1 + 1")), 'of column "k"'),
        (sa.Column("k", sa.Integer, sa.CheckConstraint("k > 1")), r"CHECK \(k > 1\)"),
        (sa.Column("k", sa.Enum("a", create_constraint=True)), "CHECK"),
        (sa.Column("k", sa.Time), "TIME"),
    ],
)
def test_what_tables_do_not_have(engine: sa.Engine, column: sa.Column[object], message: str) -> None:
    with pytest.raises(CompileError, match=message):
        sa.Table("t", sa.MetaData(), column).create(engine)


@pytest.mark.parametrize(
    ("dtype", "text"),
    [
        (sa.Float(23), "FLOAT"),
        (sa.Float(53), "DOUBLE"),
        (sa.Double(), "DOUBLE"),
        (sa.Numeric(), "DECIMAL(38,10)"),
        (sa.Numeric(5), "DECIMAL(5,0)"),
        (sa.Text(), "STRING"),
        (sa.Unicode(30), "VARCHAR(30)"),
        (sa.CHAR(), "CHAR(1)"),
        (sa.VARBINARY(9), "BINARY"),
        (sa.DateTime(timezone=True), "TIMESTAMP"),
        (sa.Enum("a", "bcd", name="e"), "VARCHAR(3)"),
        (sa.ARRAY(sa.Integer, dimensions=2), "ARRAY<ARRAY<INT>>"),
    ],
)
def test_types(engine: sa.Engine, dtype: sa.types.TypeEngine[object], text: str) -> None:
    assert dtype.compile(engine.dialect) == text


def test_values_come_back(connection: sa.Connection) -> None:
    rows = connection.execute(sa.select(people).order_by(people.c.id)).mappings().all()
    expected = [{("Full Name" if key == "name" else key): value for key, value in row.items()} for row in ROWS]
    assert [dict(row) for row in rows] == expected


def test_inserts(connection: sa.Connection) -> None:
    assert connection.execute(people.insert().values([{"id": 10}, {"id": 11}])).rowcount == 2
    assert connection.execute(people.insert(), [{"id": 12 + n} for n in range(300)]).rowcount == 300
    source = sa.select(people.c.id + 1000).where(people.c.id < 3)
    connection.execute(people.insert().from_select(["id"], source))
    cte = source.cte("c")
    connection.execute(people.insert().from_select(["id"], sa.select(cte)))
    count = sa.select(sa.func.count()).select_from(people)
    assert connection.scalar(count) == 6 + 2 + 300 + 2 + 2


def test_limits_and_lists(connection: sa.Connection) -> None:
    ids = sa.select(people.c.id).order_by(people.c.id.desc())
    assert connection.scalars(ids.limit(2)).all() == [6, 5]
    assert connection.scalars(ids.limit(2).offset(3)).all() == [3, 2]
    assert connection.scalars(ids.offset(4)).all() == [2, 1]
    assert connection.scalars(ids.where(people.c.id.in_([1, 3, 77]))).all() == [3, 1]
    assert connection.scalars(ids.where(people.c.id.in_([]))).all() == []
    assert connection.scalars(ids.where(people.c.id.not_in([]))).all() == [6, 5, 4, 3, 2, 1]
    assert connection.scalars(ids.where(people.c.name == ROWS[3]["name"])).all() == [4]
    assert connection.scalars(ids.where(people.c.seen > datetime.datetime(2024, 1, 1, 2, 3, 4, 5))).all() == [6]


def test_joins_ctes_and_windows(connection: sa.Connection) -> None:
    totals = sa.select(people.c.team, sa.func.sum(people.c.id).label("total")).group_by(people.c.team).cte("totals")
    other, teams = people.alias("other"), people.alias("teams")
    rank = sa.func.row_number().over(partition_by=other.c.team, order_by=other.c.id.desc())
    query = (
        sa.select(other.c.id, totals.c.total, rank.label("r"))
        .join(totals, totals.c.team == other.c.team)
        .outerjoin(people, people.c.id == other.c.id + 100)
        .where(people.c.id.is_(None), sa.exists().where(teams.c.team == other.c.team))
        .order_by(other.c.id)
    )
    expected = [(1, 5, 2), (2, 7, 2), (3, 9, 2), (4, 5, 1), (5, 7, 1), (6, 9, 1)]
    assert connection.execute(query).all() == expected
    latest = sa.select(sa.func.max(people.c.id)).scalar_subquery()
    assert connection.scalars(sa.select(people.c.id).where(people.c.id == latest)).all() == [6]
    both = sa.union_all(sa.select(people.c.id).where(people.c.id < 3), sa.select(people.c.id + 10)).subquery()
    assert connection.scalar(sa.select(sa.func.count()).select_from(both)) == 8


def test_expressions(connection: sa.Connection) -> None:
    seven, text = sa.literal(7), sa.literal("abc")
    values = {
        seven / 2: 3.5,
        seven // 2: 3,
        seven % 4: 3,
        text + "d": "abcd",
        text.regexp_match("^a.c"): True,
        ~text.regexp_match("^a.c"): False,
        text.regexp_replace("b", "x"): "axc",
        text.ilike("A%"): True,
        sa.true(): True,
        sa.cast("1.25", sa.Numeric(4, 2)): Decimal("1.25"),
        sa.cast("12", sa.Integer): 12,
        sa.cast(seven, sa.String): "7",
        sa.extract("year", sa.literal(datetime.date(2024, 1, 2))): 2024,
        sa.case((seven > 5, "more"), else_="less"): "more",
        seven.is_distinct_from(None): True,
        sa.func.coalesce(None, 3): 3,
    }
    assert connection.execute(sa.select(*values)).one() == tuple(values.values())


def test_literal_binds_say_the_same(connection: sa.Connection) -> None:
    values = ["it's \\ ? \n", -1, 1.5, True, None, b"\x00'", datetime.date(2024, 1, 2), Decimal("1.50")]
    values.append(datetime.datetime(2024, 1, 2, 3, 4, 5, 6))
    query = sa.select(*(sa.literal(value).label(f"c{index}") for index, value in enumerate(values)), -sa.literal(-2))
    text = str(query.compile(connection, compile_kwargs={"literal_binds": True}))
    assert "?" not in text.replace("\\ ?", "")
    assert connection.exec_driver_sql(text).one() == (*values, 2)
    assert connection.execute(query).one() == (*values, 2)
    json = sa.select(sa.literal({"a": ["it's"]}, sa.JSON).label("j"))
    text = str(json.compile(connection, compile_kwargs={"literal_binds": True}))
    assert connection.exec_driver_sql(text).scalar_one() == '{"a": ["it\'s"]}'


def test_text(connection: sa.Connection) -> None:
    query = sa.text("SELECT id, '\\:n ?' AS s FROM people WHERE id > :n AND team IN :teams ORDER BY id -- ?")
    query = query.bindparams(sa.bindparam("teams", expanding=True))
    assert connection.execute(query, {"n": 2, "teams": ["x", "y"]}).all() == [(3, ":n ?"), (4, ":n ?"), (6, ":n ?")]


class Base(DeclarativeBase):
    pass


class Animal(Base):
    __tablename__ = "animals"
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str]


def test_orm(engine: sa.Engine) -> None:
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        session.add_all([Animal(id=1, name="cat"), Animal(id=2, name="dog")])
        session.commit()
        found = session.get(Animal, 2)
        assert found is not None
        assert found.name == "dog"
        assert session.scalars(sa.select(Animal.id).where(Animal.name.like("c%"))).all() == [1]


def test_orm_notices_rows_that_others_removed(engine: sa.Engine) -> None:
    Base.metadata.create_all(engine)
    with Session(engine, expire_on_commit=False) as session:
        animals = [Animal(id=number, name="cat") for number in (1, 2, 3)]
        session.add_all(animals)
        session.commit()
        for animal in animals:
            animal.name = "dog"
        session.commit()
        assert session.scalars(sa.select(Animal.name).distinct()).all() == ["dog"]
        with engine.connect() as connection:
            assert connection.execute(sa.delete(Animal).where(Animal.id < 3)).rowcount == 2
        for animal in animals:
            animal.name = "cow"
        with pytest.raises(StaleDataError, match=r"expected to update 3 row\(s\); 1 were matched"):
            session.commit()


@pytest.mark.variants(2)
@pytest.mark.parametrize("method", [None, "multi"])
def test_pandas(engine: sa.Engine, method: str | None) -> None:
    frame = pd.DataFrame(
        {
            "a": range(1, 301),
            "b": ["it's", None, "\\"] * 100,
            "c": [1.5, None, -2.0] * 100,
            "d": pd.to_datetime(["2024-01-01 02:03:04.000005", None, "2024-12-31 00:00:00.000000"] * 100),
            "e": [True, False, True] * 100,
        }
    )
    assert frame.to_sql("frame", engine, index=False, method=method) == 300
    frame.head(2).to_sql("frame", engine, index=False, if_exists="append")
    back = pd.read_sql("SELECT * FROM frame ORDER BY a", engine)
    expected = pd.concat([frame, frame.head(2)]).sort_values("a", ignore_index=True)
    pd.testing.assert_frame_equal(back, expected, check_dtype=False)
    assert pd.read_sql("SELECT a FROM frame WHERE b = ? AND a < ?", engine, params=("it's", 3))["a"].tolist() == [1, 1]
    frame.head(3).to_sql("frame", engine, if_exists="replace")
    assert pd.read_sql("frame", engine)["index"].tolist() == [0, 1, 2]
