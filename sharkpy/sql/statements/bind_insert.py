"""INSERT: its target, its query cast to the target's columns, and DEFAULT in VALUES.

FROM source INSERT … SELECT … INSERT … SELECT … binds the source once, and each SELECT over it.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import BindError, ColumnCountError, ColumnNotFoundError, TypeMismatchError, did_you_mean
from sharkpy.base.records import dataclass
from sharkpy.base.settings import DYNAMIC_PARTITION, DYNAMIC_PARTITION_MODE
from sharkpy.catalog.model import StorageFormat, Table
from sharkpy.plan.commands import Insert, InsertDirectory, MultiInsert, PartitionSpec
from sharkpy.plan.expr import Alias, ColumnRef, Expr
from sharkpy.plan.logical import LogicalPlan, Project, SharedRows, Values
from sharkpy.sql.context import Context
from sharkpy.sql.expressions.bind_literal import castable
from sharkpy.sql.expressions.coercion import cast
from sharkpy.sql.expressions.literal_lists import literal_rows
from sharkpy.sql.grammar.parser import parse_query, parse_source
from sharkpy.sql.grammar.token_reader import TokenReader, word_of
from sharkpy.sql.queries.bind_from import BoundRelation, Relation
from sharkpy.sql.queries.bind_join import bind_joined
from sharkpy.sql.queries.bind_query import bind_query, with_ctes
from sharkpy.sql.queries.bind_select import broadcast_hints
from sharkpy.sql.statements.bind_constraints import default_of, enforced
from sharkpy.sql.statements.bind_partition import insert_spec
from sharkpy.sql.statements.bind_storage import combined, options, provider, row_format, stored_as, with_options
from sharkpy.sql.statements.command_binder import QUERY_WORDS, CommandBinder, find_insert, has_source, inserts
from sharkpy.values.types import Field, Schema


def bind_inserts(context: Context, reader: TokenReader) -> Insert | InsertDirectory | MultiInsert | None:
    """Bind INSERT …, WITH … INSERT … or [WITH …] FROM … INSERT … INSERT …, up to the end.

    Return None for other words.
    """
    word, rest = reader.word(), reader.rest
    if word == "INSERT":
        return bind_insert(CommandBinder(context, TokenReader(reader.text, rest)))
    index = find_insert(rest) if word in ("WITH", "FROM") else None
    if index is None:
        return None
    if has_source(rest[:index]):
        return bind_multi_insert(context, reader.text, rest, index)
    own = TokenReader(reader.text, rest)
    own.position = index
    return bind_insert(CommandBinder(context, own), rest[:index])


@dataclass(frozen=True, slots=True)
class TableTarget:
    """Table as the target: INTO | OVERWRITE [TABLE] table [PARTITION (…) [IF NOT EXISTS]] [(columns)]."""

    table: Table
    overwrite: bool
    partition: PartitionSpec
    if_not_exists: bool
    names: Sequence[str] | None
    token: Token | None

    @property
    def fields(self) -> Sequence[Field]:
        """Columns that the query has to return, in its order."""
        expected = _expected(self.table, self.partition)
        return expected.fields if self.names is None else [expected[name] for name in self.names]

    def insert(self, binder: CommandBinder, query: LogicalPlan) -> Insert:
        expected = _expected(self.table, self.partition)
        rows = insertable(binder, self.table, query, self.names, self.token, expected)
        return Insert(self.table, rows, self.overwrite, self.partition, self.if_not_exists)


@dataclass(frozen=True, slots=True)
class DirectoryTarget:
    """Folder as the target of INSERT OVERWRITE [LOCAL] DIRECTORY.

    OVERWRITE [LOCAL] DIRECTORY 'path' [ROW FORMAT …] [STORED AS …] | USING format [OPTIONS …]
    """

    path: str
    storage: StorageFormat

    def insert(self, binder: CommandBinder, query: LogicalPlan) -> InsertDirectory:  # noqa: ARG002  as of tables
        return InsertDirectory(self.path, self.storage, query)


def bind_insert(binder: CommandBinder, with_tokens: Sequence[Token] = ()) -> Insert | InsertDirectory:
    """Bind INSERT target query. `with_tokens` are the tokens of a WITH before it."""
    reader = binder.reader
    target = insert_target(binder)
    if reader.current is None:
        raise reader.error("a query or VALUES expected")
    query = _query(binder, target, with_tokens)
    reader.position = len(reader.tokens)
    return target.insert(binder, query)


def _query(binder: CommandBinder, target: TableTarget | DirectoryTarget, with_tokens: Sequence[Token]) -> LogicalPlan:
    rest = binder.reader.rest
    if not isinstance(target, TableTarget):
        return binder.query([*with_tokens, *rest])
    # A table without files rebuilds its blocks from its query. Given rows do not outlive the statement.
    if target.table.location is not None and (rows := literal_rows(binder.context, rest)) is not None:
        return rows
    tokens, defaults = without_defaults(rest)
    query = binder.query([*with_tokens, *tokens])
    return with_defaults(binder, query, defaults, target.table, target.fields)


def insert_target(binder: CommandBinder) -> TableTarget | DirectoryTarget:
    """Read INSERT and its target, up to the query."""
    reader = binder.reader
    reader.expect("INSERT")
    overwrite = reader.expect_any("INTO", "OVERWRITE") == "OVERWRITE"
    if overwrite and (reader.peek("DIRECTORY") or reader.peek("LOCAL", "DIRECTORY")):
        return _directory(binder)
    reader.match("TABLE")
    token = reader.current
    table = binder.written_table("INSERT")
    partition = _partition(binder, table)
    if_not_exists = _if_not_exists(binder, overwrite, partition)
    names = _column_list(binder, table, _expected(table, partition))
    return TableTarget(table, overwrite, partition, if_not_exists, names, token)


def _directory(binder: CommandBinder) -> DirectoryTarget:
    """Read the target folder. The default format is text with Hive's delimiters. All folders are local here."""
    reader = binder.reader
    reader.match("LOCAL")
    reader.expect("DIRECTORY")
    path = reader.string("a path")
    row = row_format(reader) if reader.match("ROW", "FORMAT") else None
    if row is None and reader.match("USING"):
        given = provider(reader)
        return DirectoryTarget(path, with_options(reader, given, options(reader) if reader.match("OPTIONS") else ()))
    file = stored_as(reader) if reader.match("STORED", "AS") else None
    return DirectoryTarget(path, combined(reader, row, file) or StorageFormat("text"))


def _if_not_exists(binder: CommandBinder, overwrite: bool, partition: PartitionSpec) -> bool:
    reader = binder.reader
    token = reader.current
    if not reader.if_not_exists():
        return False
    if not overwrite:
        raise binder.error("IF NOT EXISTS belongs to INSERT OVERWRITE", token)
    if not partition or any(value is None for _, value in partition):
        raise binder.error("IF NOT EXISTS needs a value for each partition column", token)
    return True


def _partition(binder: CommandBinder, table: Table) -> PartitionSpec:
    """Read the PARTITION clause. Without one, all partition columns are dynamic."""
    reader = binder.reader
    token = reader.current
    if reader.peek("PARTITION"):
        spec = insert_spec(binder, table)
    else:
        spec = tuple((name, None) for name in table.partition_columns)
    conf = binder.context.conf
    if any(value is None for _, value in spec) and not conf.value(DYNAMIC_PARTITION):
        hint = f"give each one a value, or SET {DYNAMIC_PARTITION.key}=true"
        raise binder.error("dynamic partitions are switched off: a partition column has no value", token, hint=hint)
    is_strict = conf.value(DYNAMIC_PARTITION_MODE).lower() == "strict"
    if spec and is_strict and all(value is None for _, value in spec):
        hint = f"give one a value, or SET {DYNAMIC_PARTITION_MODE.key}=nonstrict"
        raise binder.error("in strict mode at least one partition column needs a value", token, hint=hint)
    return spec


def _expected(table: Table, partition: PartitionSpec) -> Schema:
    """Columns of the table that the query has to return."""
    static = {name for name, value in partition if value is not None}
    return Schema(tuple(field for field in table.schema if field.name not in static))


def _column_list(binder: CommandBinder, table: Table, expected: Schema) -> list[str] | None:
    reader = binder.reader
    following = reader.tokens[reader.position + 1 :]
    if not reader.peek("(") or (following and _begins_query(following[0])):
        return None
    reader.expect("(")
    names: list[str] = []
    while True:
        token = reader.current
        name = reader.name("a column name")
        if not expected.has(name):
            hint = did_you_mean(name, expected.names)
            raise binder.error(f'no column "{name}" in {table.qualified_name}', token, ColumnNotFoundError, hint)
        if name in names:
            raise binder.error(f'the column "{name}" is listed twice', token, sqlstate="42701")
        names.append(name)
        if reader.match(")"):
            return names
        reader.expect(",")


def _begins_query(token: Token) -> bool:
    return word_of(token) in QUERY_WORDS


def insertable(
    binder: CommandBinder,
    table: Table,
    query: LogicalPlan,
    names: Sequence[str] | None,
    token: Token | None,
    schema: Schema,
) -> LogicalPlan:
    """Cast `query` to the columns of `schema`, in order, and add enabled constraints.

    Columns that are not in `names` get their defaults. Raise ColumnCountError or TypeMismatchError if the columns do
    not match.
    """
    expected = list(names) if names is not None else list(schema.names)
    if len(query.output) != len(expected):
        message = f"{table.qualified_name} takes {len(expected)} columns here, the query has {len(query.output)}"
        raise binder.error(message, token, ColumnCountError)
    given: dict[str, ColumnRef] = dict(zip(expected, query.output, strict=True))
    items: list[Alias | ColumnRef] = []
    for field in schema:
        source: Expr = given.get(field.name) or default_of(binder.context, table, field)
        if not castable(source.dtype, field.dtype):
            message = f'the column "{field.name}" is {field.dtype}, the query gives {source.dtype}'
            raise binder.error(message, token, TypeMismatchError)
        items.append(Alias(cast(source, field.dtype), next(binder.context.ids), field.name))
    if (
        all(given.get(field.name) == column for field, column in zip(schema, query.output, strict=False))
        and all(
            column.dtype == field.dtype and column.name == field.name
            for column, field in zip(query.output, schema, strict=False)
        )
        and len(query.output) == len(schema)
    ):
        return enforced(binder.context, table, query)
    return enforced(binder.context, table, Project(query, tuple(items)))


Cell = tuple[int, int]
"""Row and column of a value."""
_BEFORE, _BEHIND = (TokenType.L_PAREN, TokenType.COMMA), (TokenType.R_PAREN, TokenType.COMMA)


def without_defaults(tokens: list[Token]) -> tuple[list[Token], frozenset[Cell]]:
    """Replace each DEFAULT in VALUES by NULL. Return the tokens, and the cells that were DEFAULT."""
    if not tokens or tokens[0].token_type != TokenType.VALUES:
        return tokens, frozenset()
    found, cells = list(tokens), set[Cell]()
    row = column = depth = 0
    for index, token in enumerate(tokens):
        kind = token.token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if kind == TokenType.COMMA and depth < 2:
            row, column = (row, column + 1) if depth else (row + 1, 0)
        if depth == 1 and _is_default(tokens, index):
            found[index] = Token(TokenType.NULL, "NULL", token.line, token.col, token.start, token.end)
            cells.add((row, column))
    return found, frozenset(cells)


def _is_default(tokens: Sequence[Token], index: int) -> bool:
    token = tokens[index]
    if token.text.upper() != "DEFAULT" or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return False
    if not 0 < index < len(tokens) - 1:
        return False
    return tokens[index - 1].token_type in _BEFORE and tokens[index + 1].token_type in _BEHIND


def with_defaults(
    binder: CommandBinder, query: LogicalPlan, cells: Collection[Cell], table: Table, fields: Sequence[Field]
) -> LogicalPlan:
    """Put the defaults of `fields`, the columns of `query`, into `cells`. A column without a default gets NULL."""
    if not cells or not isinstance(query, Values) or len(query.columns) != len(fields):
        return query
    context = binder.context
    changed = {column for _, column in cells}
    columns = list(query.columns)
    rows = [list(row) for row in query.rows]
    for index in changed:
        field = fields[index]
        columns[index] = context.column(columns[index].name, field.dtype)
        for number, row in enumerate(rows):
            value: Expr = default_of(context, table, field) if (number, index) in cells else row[index]
            if not castable(value.dtype, field.dtype):
                message = f'the column "{field.name}" is {field.dtype}, a value given is {value.dtype}'
                raise context.error(message, None, TypeMismatchError)
            row[index] = cast(value, field.dtype)
    return Values(tuple(columns), tuple(map(tuple, rows)))


MOST_INSERTS = 1_000
"""Maximum number of INSERTs in a statement. Each is planned and executed as a separate query."""


def bind_multi_insert(context: Context, text: str, tokens: list[Token], first: int) -> MultiInsert:
    """Bind [WITH …] FROM source, up to the INSERT at `first`, and one or more INSERTs."""
    source = parse_source(text, tokens[:first])
    branches = [_branch(context, text, branch) for branch in _branches(tokens[first:])]
    if with_ := source.args.get("with_"):
        context = with_ctes(with_, context)
    hints = frozenset[str]().union(*(broadcast_hints(select) for _, _, select in branches))
    item = source.args["from_"].this
    relation = bind_joined(context, item, item.args.get("joins") or [], None, hints)
    shared = Relation(SharedRows(relation.plan.output), relation.scope)
    inserts: list[Insert | InsertDirectory] = []
    for binder, target, select in branches:
        select.set("from_", exp.From(this=BoundRelation(this=shared)))
        inserts.append(target.insert(binder, bind_query(select, context, None)))
    return MultiInsert(relation.plan, tuple(inserts))


def _branches(tokens: Sequence[Token]) -> list[list[Token]]:
    """Tokens of each INSERT with its SELECT."""
    starts = inserts(tokens)
    if len(starts) > MOST_INSERTS:
        message = f"the statement has more than {MOST_INSERTS:,} INSERTs"
        raise BindError(message, hint="write it as several statements", sqlstate="54000")
    return [list(tokens[start:end]) for start, end in itertools.pairwise((*starts, len(tokens)))]


def _branch(
    context: Context, text: str, tokens: list[Token]
) -> tuple[CommandBinder, TableTarget | DirectoryTarget, exp.Select]:
    reader = TokenReader(text, tokens)
    binder = CommandBinder(context, reader)
    target = insert_target(binder)
    start = reader.current
    if start is None or reader.word() in ("WITH", "FROM", "VALUES", "("):
        raise reader.error("SELECT expected")
    tree = parse_query(text, reader.rest)
    if isinstance(tree, exp.SetOperation):
        raise binder.error("a set operation is not allowed in an INSERT after FROM", start)
    if not isinstance(tree, exp.Select):
        raise reader.error("SELECT expected")
    if tree.args.get("from_") is not None:
        raise binder.error("the rows come from the FROM at the beginning: this SELECT takes no FROM of its own", start)
    return binder, target, tree
