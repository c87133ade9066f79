"""FROM source INSERT … SELECT … INSERT … SELECT …: the source is bound once, and each SELECT over it."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token

from sharkpy.base.errors import BindError
from sharkpy.plan.commands import Insert, InsertDirectory, MultiInsert
from sharkpy.plan.logical import SharedRows
from sharkpy.sql.context import Context
from sharkpy.sql.grammar.parser import parse_query, parse_source
from sharkpy.sql.grammar.token_reader import TokenReader
from sharkpy.sql.queries.bind_from import BoundRelation, Relation
from sharkpy.sql.queries.bind_join import bind_joined
from sharkpy.sql.queries.bind_query import bind_query, with_ctes
from sharkpy.sql.queries.bind_select import broadcast_hints
from sharkpy.sql.statements.bind_insert import DirectoryTarget, TableTarget, insert_target
from sharkpy.sql.statements.command_binder import CommandBinder, inserts

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
