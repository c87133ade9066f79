"""CREATE STREAM and DROP STREAM.

The columns of a stream may have the clause WATERMARK FOR column AS column [- INTERVAL n unit] [IDLE AFTER n unit].
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import partial

from sqlglot.tokenizer_core import Token, TokenType

from sharkpy.base.errors import BindError, ParseError, UnsupportedError
from sharkpy.catalog.continuous_query import EmitMode
from sharkpy.catalog.lake_tables import is_lake
from sharkpy.catalog.model import CHANGES, ComputedColumn, StorageFormat, StreamSource, Table, TableKind, Watermark
from sharkpy.catalog.stream_kinds import (
    FOLDER,
    HISTORY,
    KINDS,
    SPANS_STORAGE,
    STARTING_VERSION,
    TABLE,
    Properties,
    StreamKind,
    options_among,
)
from sharkpy.plan.commands import CreateStream, DropStream
from sharkpy.sql.expressions.literals import interval_literal
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.queries.bind_view import divided_view
from sharkpy.sql.queries.table_changes import COLUMNS
from sharkpy.sql.statements.bind_columns import check_computed, column_fields, path_columns
from sharkpy.sql.statements.bind_storage import combined, with_options
from sharkpy.sql.statements.bind_table_clauses import TableClauses, columns_by_format, table_clauses
from sharkpy.sql.statements.command_binder import CommandBinder
from sharkpy.sql.statements.stream_clauses import checked_options
from sharkpy.values.types import BIGINT, DATE, INTERVAL_DAY_TIME, STRING, TIMESTAMP, DataType, Field, Schema

_TELLING = frozenset(("parquet", "orc", "avro"))
"""Formats whose files contain their columns, whatever the options."""
_OTHERS = ("location", "buckets", "skew")
"""Clauses of tables that streams do not have."""


def bind_create_stream(binder: CommandBinder) -> CreateStream:
    """Bind STREAM [IF NOT EXISTS] name [(columns)] [clauses] FROM kind ['place'] [(options)], after CREATE."""
    reader = binder.reader
    reader.expect("STREAM")
    if_not_exists = reader.if_not_exists()
    database, name = binder.new_name()
    begin = reader.current
    _refuse_other_words(binder)
    rest, watermark, at_watermark = take_watermark(binder)
    command = _stream(rest, (database, name), if_not_exists, begin)
    reader.position = len(reader.tokens) - len(rest.reader.rest)
    if watermark is None:
        return command
    known: list[Field | ComputedColumn] = [*command.schema, *command.computed]
    check_watermark(binder, watermark, known, at_watermark)
    if command.table is not None and command.table.has_state:
        message = "WATERMARK FOR a stream FROM a continuous table with state is not supported"
        raise binder.error(message, at_watermark, UnsupportedError, "INSERT its rows into a table, and read that")
    return dataclasses.replace(command, watermark=watermark)


def _stream(
    binder: CommandBinder, name_parts: tuple[str, str], if_not_exists: bool, begin: Token | None
) -> CreateStream:
    """Bind the words after the name of a stream."""
    reader, (database, name) = binder.reader, name_parts
    computed: list[ComputedColumn] = []
    at_columns = reader.current
    fields, constraints = column_fields(binder, (), computed) if reader.peek("(") else ([], ())
    if constraints:
        raise reader.unsupported("a constraint of a stream")
    clauses = table_clauses(binder)
    for other in _OTHERS:
        if getattr(clauses, other) is not None:
            raise reader.unsupported(f"the {other} of a stream")
    reader.expect("FROM")
    kind = _kind(binder)
    if kind is TABLE:
        if fields:
            raise binder.error("a stream FROM TABLE has the columns of the table", begin, ParseError)
        command = _of_table(binder, (database, name), if_not_exists, clauses)
        return _with_computed(binder, command, computed, at_columns)
    if clauses.partitions and kind is not FOLDER:
        raise reader.unsupported(f"PARTITIONED BY of a stream FROM {kind.name}")
    place = reader.string(kind.place) if kind.place else None
    options, properties = _options(binder, kind, clauses, begin)
    source = StreamSource(kind.name, options)
    storage = combined(reader, clauses.row, clauses.file)
    if clauses.options and storage is not None:
        storage = with_options(reader, storage, clauses.options)
    if not fields and kind is FOLDER and storage is not None and storage.name in _TELLING:
        fields = _columns_of_files(binder, storage, place or "", clauses, begin)
    fields, of_path = path_columns(binder, clauses.partitions, fields, begin)
    fields = _checked_columns(binder, kind, fields, begin)
    if storage is not None:
        fields = columns_by_format(binder, storage, properties, fields) or fields
    command = CreateStream(
        database,
        name,
        Schema(tuple(fields)),
        source,
        if_not_exists,
        place,
        storage,
        properties,
        clauses.comment,
    )
    return _with_computed(binder, command, [*of_path, *computed], at_columns)


def _columns_of_files(
    binder: CommandBinder, storage: StorageFormat, place: str, clauses: TableClauses, token: Token | None
) -> list[Field]:
    """Columns of the files in the folder of a stream that lists no columns.

    Columns of Hive partitions are included if PARTITIONED BY names them without types.
    """
    with binder.place_of(token):
        table = binder.context.catalog.file_table(storage.name, place)
    if table is None:
        raise binder.error("a list of columns expected", token, ParseError)
    by_name = {one if isinstance(one, str) else one.name: one for one in clauses.partitions or ()}
    if missing := next((name for name in table.partition_columns if name not in by_name), None):
        message = f'the folder has Hive partitions of "{missing}"'
        raise binder.error(message, token, hint=f"PARTITIONED BY ({missing})", sqlstate="42000")
    return [field for field in table.schema if isinstance(by_name.get(field.name, ""), str)]


def _with_computed(
    binder: CommandBinder, command: CreateStream, computed: list[ComputedColumn], token: Token | None
) -> CreateStream:
    """Return the command with computed columns, after they are checked."""
    kind, place = TableKind.STREAM, (command.database, command.name)
    stream = Table("", *place, kind, command.schema, stream=command.source, computed=tuple(computed))
    return dataclasses.replace(command, computed=check_computed(binder, stream, token).computed)


def _refuse_other_words(binder: CommandBinder) -> None:
    """Refuse words that other systems have after the name of a stream."""
    reader = binder.reader
    if reader.peek("AS"):
        hint = "CREATE CONTINUOUS TABLE name AS query; CREATE STREAM … FROM TABLE name reads it as a stream"
        raise binder.error("CREATE STREAM … AS query is not supported", reader.current, UnsupportedError, hint)


def _of_table(
    binder: CommandBinder, place: tuple[str, str], if_not_exists: bool, clauses: TableClauses
) -> CreateStream:
    """Bind table [WITH HISTORY] [WITH CHANGES] [(options)], after FROM TABLE."""
    reader = binder.reader
    if clauses.row is not None or clauses.file is not None or clauses.options:
        raise reader.unsupported("a format of a stream FROM TABLE")
    if clauses.partitions:
        raise reader.unsupported("PARTITIONED BY of a stream FROM TABLE")
    token = reader.current
    table = binder.table()
    if is_lake(table):
        raise binder.error(
            f"a stream FROM TABLE of the format {table.storage.name} is not supported", token, UnsupportedError
        )
    words = list(iter(partial(_with_word, reader), ""))
    given, properties = _options(binder, TABLE, clauses, token)
    options = {**dict(given), **dict.fromkeys(words, "true")}
    source = StreamSource(TABLE.name, tuple(options.items()), table.qualified_name)
    command = CreateStream(
        *place, table.schema, source, if_not_exists, None, table.storage, properties, clauses.comment, table
    )
    if options.get(CHANGES) == "true":
        return _of_changes(binder, command, table, token)
    if STARTING_VERSION in options:
        message = f"the option {STARTING_VERSION} is for a stream FROM TABLE … WITH CHANGES"
        raise binder.error(message, token, sqlstate="22023")
    if table.has_state and not table.gives:
        return dataclasses.replace(command, storage=_storage_of_state(binder, table, token))
    _check_is_table(binder, table, token)
    return command


def _with_word(reader: TokenReader) -> str:
    """Read WITH HISTORY or WITH CHANGES. Return the name of the option, or an empty text for other words."""
    if reader.match("WITH", "HISTORY"):
        return HISTORY
    return CHANGES if reader.match("WITH", "CHANGES") else ""


def _of_changes(binder: CommandBinder, command: CreateStream, table: Table, token: Token | None) -> CreateStream:
    """Return the command of a stream WITH CHANGES, which adds columns to the table's own."""
    options = dict(command.source.options)
    if options.get(HISTORY) == "true" and STARTING_VERSION in options:
        message = f"WITH HISTORY and {STARTING_VERSION} of one stream"
        raise binder.error(message, token, hint="WITH HISTORY begins with the current rows", sqlstate="22023")
    if table.continuous:
        message = f"WITH CHANGES of {table.qualified_name}, a continuous table, is not supported"
        hint = "leave out WITH CHANGES: FROM TABLE reads the rows that its epochs append"
        raise binder.error(message, token, UnsupportedError, hint)
    _check_is_table(binder, table, token)
    if taken := next((name for name in COLUMNS.names if table.schema.has(name)), None):
        message = f'{table.qualified_name} has a column "{taken}", which a stream WITH CHANGES adds'
        raise binder.error(message, token, sqlstate="42701")
    schema = Schema((*table.schema, *COLUMNS))
    return dataclasses.replace(command, schema=schema, storage=StorageFormat("parquet"))


def _check_is_table(binder: CommandBinder, table: Table, token: Token | None) -> None:
    if table.is_view or table.streaming_kind not in ("", "continuous table"):
        kind = table.streaming_kind or "view"
        raise binder.error(f"{table.qualified_name} is a {kind}, not a table", token, sqlstate="42809")


def _storage_of_state(binder: CommandBinder, table: Table, token: Token | None) -> StorageFormat:
    """Format of the files of a stream FROM a continuous table with state.

    The files have the spans of closed windows, or are the files of the state. Raise UnsupportedError if the stream
    could not have each row exactly once.
    """
    if table.emit is not EmitMode.APPEND:
        message = f"the rows of {table.qualified_name} change, and a stream needs a table whose rows are only appended"
        hint = "define the table with EMIT APPEND: windows that a watermark closes and joins of streams can be a stream"
        raise binder.error(message, token, UnsupportedError, hint)
    divided = divided_view(binder.context, table)
    if divided.closing is not None:
        return SPANS_STORAGE
    if divided.appends_rows:
        return StorageFormat("parquet")
    fact = "which has windows of several watermarks, or windows together with other rows"
    message = f"a stream FROM {table.qualified_name}, {fact},"
    hint = "make a table and a stream for each"
    raise binder.error(f"{message} is not supported", token, UnsupportedError, hint)


def _checked_columns(binder: CommandBinder, kind: StreamKind, fields: list[Field], begin: Token | None) -> list[Field]:
    """Columns of a stream, which its kind may prescribe."""
    types = {field.dtype for field in kind.columns}
    if not types and not fields:
        raise binder.error("a list of columns expected", begin, ParseError)
    for field in fields:
        if types and field.dtype not in types:
            names = " or ".join(sorted(map(str, types)))
            message = f'the column "{field.name}" of a stream FROM {kind.name} cannot be {field.dtype}'
            raise binder.error(message, begin, hint=f"its columns are {names}", sqlstate="42804")
    return fields or list(kind.columns)


def _kind(binder: CommandBinder) -> StreamKind:
    reader = binder.reader
    word = reader.word()
    if word not in KINDS:
        raise reader.error(f"a source ({', '.join(KINDS)}) expected")
    reader.take()
    return KINDS[word]


def _options(
    binder: CommandBinder, kind: StreamKind, clauses: TableClauses, token: Token | None
) -> tuple[Properties, Properties]:
    """Options of the source, including options in TBLPROPERTIES, and the remaining properties."""
    with binder.place_of(token):
        moved, properties = options_among(clauses.properties or (), kind)
    names = dict(moved)

    def check(given: Properties) -> None:
        if twice := next((name for name, value in given if names.get(name, value) != value), None):
            raise BindError(f'the option "{twice}" has a different value in TBLPROPERTIES', sqlstate="22023")
        kind.check((*given, *moved))

    given = checked_options(binder, check)
    return tuple((dict(given) | names).items()), properties


def bind_drop_stream(binder: CommandBinder) -> DropStream:
    """Bind STREAM [IF EXISTS] name, after DROP."""
    reader = binder.reader
    reader.expect("STREAM")
    if_exists = reader.if_exists()
    token = reader.current
    found = binder.optional_table() if if_exists else binder.table()
    if found is not None and not found.is_stream:
        if if_exists:
            return DropStream(None)
        raise binder.error(f"{found.qualified_name} is not a stream", token, hint=_drop_hint(found), sqlstate="42809")
    return DropStream(found)


def _drop_hint(table: Table) -> str:
    return "use DROP VIEW" if table.is_view else "use DROP TABLE"


_TIMES_OF: dict[DataType, str] = {BIGINT: "timestamp_millis({})", STRING: "to_timestamp({})", DATE: "timestamp({})"}
"""Usual expressions that convert a column to a time."""
_DEPTHS = {"(": 1, "<": 1, ")": -1, ">": -1, ">>": -2}


def take_watermark(binder: CommandBinder) -> tuple[CommandBinder, Watermark | None, Token | None]:
    """Take the clause out of the list of columns that comes next.

    Return a binder of the remaining statement, the watermark, and the first token of the clause. Both are None without
    the clause.
    """
    reader = binder.reader
    begin = _begin(reader)
    if begin is None:
        return binder, None, None
    inner = TokenReader(reader.text, reader.tokens)
    inner.position = begin + 1
    token = inner.current
    found = _watermark(CommandBinder(binder.context, inner))
    if not inner.peek(")") and not inner.peek(","):
        raise inner.error(", or ) expected")
    tokens = [*reader.tokens[:begin], *reader.tokens[inner.position :]]
    if reader.tokens[begin].text == "(":
        # The list begins with the clause, or has only the clause.
        kept = begin if inner.peek(")") else begin + 1
        tokens = [*reader.tokens[:kept], *reader.tokens[inner.position + 1 :]]
    left = TokenReader(reader.text, tokens)
    left.position = reader.position
    return CommandBinder(binder.context, left), found, token


def check_watermark(
    binder: CommandBinder, found: Watermark, fields: Iterable[Field | ComputedColumn], token: Token | None
) -> None:
    """Raise BindError if the watermark's column is not in the stream, or is not a TIMESTAMP."""
    known = {field.name: field.dtype for field in fields}
    if found.column not in known:
        raise binder.error(f'the stream has no column "{found.column}"', token, sqlstate="42703")
    dtype = known[found.column]
    if dtype != TIMESTAMP:
        message = f'a watermark needs a time, and "{found.column}" is {dtype}'
        hint = f"make it a TIMESTAMP, or compute one among the columns: name AS ({_TIMES_OF.get(dtype, 'expression')})"
        raise binder.error(message, token, hint=hint.format(found.column), sqlstate="42804")


def _begin(reader: TokenReader) -> int | None:
    """Position of the comma or parenthesis before the clause; None if there is no clause."""
    depth = 0
    for place in range(reader.position, len(reader.tokens)):
        token_type = reader.tokens[place].token_type
        if token_type not in (TokenType.STRING, TokenType.IDENTIFIER):
            depth += _DEPTHS.get(reader.tokens[place].text, 0)
        if depth <= 0:
            return None
        words = [one.text.upper() for one in reader.tokens[place + 1 : place + 3]]
        is_before = token_type == TokenType.COMMA or place == reader.position
        if depth == 1 and is_before and words == ["WATERMARK", "FOR"]:
            return place
    return None


def _watermark(binder: CommandBinder) -> Watermark:
    reader = binder.reader
    reader.expect("WATERMARK", "FOR")
    column = reader.name("a column").lower()
    reader.expect("AS")
    token = reader.current
    if reader.name("the column").lower() != column:
        raise binder.error(f"{column} or {column} - INTERVAL … expected", token, sqlstate="42601")
    delay = 0
    if reader.match("-"):
        reader.expect("INTERVAL")
        delay = _microseconds(binder)
    idle = _microseconds(binder) if reader.match("IDLE", "AFTER") else None
    return Watermark(column, delay, idle)


def _microseconds(binder: CommandBinder) -> int:
    """Read a length of time: 10 SECONDS, '10' SECOND, or '10 seconds'."""
    reader, token = binder.reader, binder.reader.current
    taken = reader.take()
    unit = "" if reader.word() in ("", "IDLE", ",", ")") else reader.take().text.upper().removesuffix("S")
    try:
        length = interval_literal(taken.text, unit)
    except BindError as error:
        raise binder.error(error.message, token, hint=error.hint, sqlstate=error.sqlstate) from None
    if length.dtype != INTERVAL_DAY_TIME or not isinstance(length.value, int) or length.value < 0:
        raise binder.error("a length of days and times expected", token, sqlstate="22007")
    return length.value
