"""The forms of EXPLAIN other than plain, EXTENDED and ANALYZE, one row per form.

DEPENDENCY, AUTHORIZATION and LOCKS list a statement's inputs and outputs in Hive's format.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.users import user_name
from sharkpy.catalog.hive_partition import partition_name
from sharkpy.catalog.model import Table
from sharkpy.execution.queries.plan_query import plan_steps, trace_rules
from sharkpy.execution.tables.data_files import partitions_of
from sharkpy.optimizer.batches import excluded_rules
from sharkpy.optimizer.context import Context
from sharkpy.optimizer.estimate import estimate_rows
from sharkpy.physical.hive_partitions import HivePartitions, PartitionRead
from sharkpy.plan.commands import Command, Explain, Insert, MultiInsert, queries_of
from sharkpy.plan.logical import LogicalPlan, Scan
from sharkpy.plan.subqueries import SUBQUERIES
from sharkpy.sql.binder import bind

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession
    from sharkpy.physical.plan import PhysicalPlan

_OPERATIONS = {
    "CreateTable": "CREATETABLE",
    "CreateView": "CREATEVIEW",
    "DropTable": "DROPTABLE",
    "TruncateTable": "TRUNCATETABLE",
    "LoadData": "LOAD",
    "AnalyzeTable": "ANALYZE_TABLE",
}


def dependency_lines(command: Explain, session: EngineSession) -> Iterator[str]:
    """Yield Hive's JSON: tables with their views, and the Hive partitions left after pruning."""
    scans = list(_input_scans(command.statement, session))
    parents = _parents(command.views, session)
    tables = {scan.table.table_id: scan.table for scan in scans}
    known = [*command.views, *tables.values()]
    input_tables = [_with_parents({"tablename": _at(t), "tabletype": t.kind.value}, t, parents) for t in known]
    names = dict.fromkeys(pair for scan in scans for pair in _partitions(scan, session))
    input_partitions = [
        _with_parents({"partitionName": f"{_at(tables[table_id])}@{name}"}, tables[table_id], parents, "partition")
        for table_id, name in names
    ]
    yield json.dumps({"input_tables": input_tables, "input_partitions": input_partitions}, separators=(",", ":"))


def _with_parents(
    entry: dict[str, str], table: Table, parents: dict[str, list[str]], kind: str = "table"
) -> dict[str, str]:
    found = parents.get(table.table_id)
    return entry | {f"{kind}Parents": f"[{', '.join(found)}]"} if found else entry


def _parents(views: tuple[Table, ...], session: EngineSession) -> dict[str, list[str]]:
    """Return, for each table and view, the views in `views` that read it directly."""
    read: dict[str, set[str]] = {}
    for view in views:
        statement = bind(f"EXPLAIN {view.view_text or ''}", session.catalog, session.conf, view.view_database)
        if isinstance(statement, Explain):
            plans = [statement.statement] if isinstance(statement.statement, LogicalPlan) else []
            inner = {scan.table.table_id for plan in plans for scan in scans_of(plan)}
            read[view.table_id] = inner | {other.table_id for other in statement.views}
    found: dict[str, list[str]] = {}
    for view in views:
        nested = [other for other in views if other.table_id in read.get(view.table_id, ())]
        through = {table_id for other in nested for table_id in read.get(other.table_id, ())}
        for table_id in sorted(read.get(view.table_id, set()) - through):
            found.setdefault(table_id, []).append(_at(view))
    return found


def scans_of(plan: LogicalPlan) -> Iterator[Scan]:
    """Yield the scans of a plan and of its subqueries."""
    for node in plan.walk():
        if isinstance(node, Scan):
            yield node
        for expr in node.expressions:
            for inner in expr.walk():
                if isinstance(inner, SUBQUERIES):
                    yield from scans_of(inner.plan)


def _plans(statement: LogicalPlan | Command) -> tuple[LogicalPlan, ...]:
    return (statement,) if isinstance(statement, LogicalPlan) else queries_of(statement)


def _input_scans(statement: LogicalPlan | Command, session: EngineSession) -> Iterator[Scan]:
    """Yield the scans with their pushed-down predicates, and the scans of tables that the optimizer removes."""
    for plan in _plans(statement):
        optimized = list(scans_of(plan_steps(session, plan)[0]))
        seen = {scan.table.table_id for scan in optimized}
        yield from optimized
        yield from (scan for scan in scans_of(plan) if scan.table.table_id not in seen)


def _partitions(scan: Scan, session: EngineSession) -> Iterator[tuple[str, str]]:
    """Yield the Hive partitions that match the scan's predicate, by table and name."""
    table = scan.table
    if table.is_partitioned:
        names = partitions_of(table, session.catalog).names
        known = HivePartitions.of(names, table.partition_schema, lambda _: PartitionRead(None, ()))
        yield from ((table.table_id, name) for name in known.kept(scan))


def outputs_of(statement: LogicalPlan | Command) -> list[str]:
    """Return the outputs of a statement: `database@table`, with the Hive partition if its values are given."""
    if isinstance(statement, LogicalPlan):
        return []
    if isinstance(statement, MultiInsert):
        return [name for one in statement.inserts for name in outputs_of(one)]
    table = getattr(statement, "table", None)
    if isinstance(table, Table):
        given = [(name, value) for name, value in getattr(statement, "partition", None) or () if value is not None]
        is_whole = isinstance(statement, Insert) and len(given) == len(table.partition_columns)
        if given and is_whole:
            return [f"{_at(table)}@{partition_name([n for n, _ in given], [v for _, v in given])}"]
        return [_at(table)]
    database, name = getattr(statement, "database", None), getattr(statement, "name", None)
    if isinstance(database, str) and isinstance(name, str):
        return [f"{database}@{name}"]
    path = getattr(statement, "path", None) or name
    return [f"database:{path}" if path is name else str(path)] if path else []


def authorization_lines(command: Explain, session: EngineSession) -> Iterator[str]:
    """Yield objects whose privileges Hive would check. The engine itself only checks logins and allowed folders."""
    statement = command.statement
    yield "INPUTS: "
    for name in _input_names(command, session):
        yield f"  {name}"
    yield "OUTPUTS: "
    for name in outputs_of(statement):
        yield f"  {name}"
    yield "CURRENT_USER: "
    yield f"  {user_name(session.conf)}"
    yield "OPERATION: "
    yield f"  {_OPERATIONS.get(type(statement).__name__, 'QUERY' if _plans(statement) else 'DDL')}"


def lock_lines(command: Explain, session: EngineSession) -> Iterator[str]:
    """Yield locks that Hive would take. Here readers see the data as of their start, and writers publish atomically."""
    yield "LOCK INFORMATION:"
    for name in _input_names(command, session):
        yield f"{name.replace('@', '.')} -> SHARED_READ"
    kind = "SHARED_WRITE" if not getattr(command.statement, "overwrite", True) else "EXCLUSIVE"
    for name in outputs_of(command.statement):
        yield f"{name.replace('@', '.')} -> {kind}"


def _input_names(command: Explain, session: EngineSession) -> list[str]:
    scans = list(_input_scans(command.statement, session))
    tables = {scan.table.table_id: scan.table for scan in scans}
    names = [_at(table) for table in (*command.views, *tables.values())]
    names += [f"{_at(tables[table_id])}@{name}" for scan in scans for table_id, name in _partitions(scan, session)]
    return list(dict.fromkeys(names))


def _at(table: Table) -> str:
    return f"{table.database}@{table.name}"


# Plans in other forms


Lines = Callable[[Explain, "EngineSession"], Iterator[str]]


def _explained_plans(command: Explain) -> tuple[LogicalPlan, ...]:
    statement = command.statement
    if isinstance(statement, LogicalPlan):
        return (statement,)
    plans = queries_of(statement)
    if not plans:
        raise UnsupportedError(f"EXPLAIN {command.form.upper()} of a statement without a query")
    return plans


def _logical(command: Explain, _: EngineSession) -> Iterator[str]:
    """Yield the bound plan of each query."""
    for plan in _explained_plans(command):
        yield "LOGICAL PLAN:"
        yield from plan.explain().splitlines()


def _optimized(command: Explain, session: EngineSession) -> Iterator[str]:
    """Yield the optimized plan of each query."""
    for plan in _explained_plans(command):
        yield "CBO PLAN:"
        yield from plan_steps(session, plan)[0].explain().splitlines()


def _cost(command: Explain, session: EngineSession) -> Iterator[str]:
    """Yield the optimized plan with the estimated rows of each step."""
    for plan in _explained_plans(command):
        yield "CBO PLAN:"
        snapshot = session.snapshot()
        optimized = plan_steps(session, plan, snapshot)[0]
        yield from _with_rows(optimized, Context(optimized, snapshot, session.conf), 0)


def _with_rows(plan: LogicalPlan, estimates: Context, depth: int) -> Iterator[str]:
    yield f"{'  ' * depth}{plan.label}: {estimate_rows(plan, estimates):,.0f} rows"
    for child in plan.children:
        yield from _with_rows(child, estimates, depth + 1)


def _rules(command: Explain, session: EngineSession) -> Iterator[str]:
    """Yield the bound plan, and the lines that each effective rule of the optimizer removed and added."""
    excluded = excluded_rules(session.conf)
    for plan in _explained_plans(command):
        yield "== Bound plan =="
        yield from plan.explain().splitlines()
        yield from trace_rules(session, plan).lines
        if excluded:
            yield f"== excluded: {', '.join(sorted(excluded))} =="


def _tree(command: Explain, _: EngineSession) -> Iterator[str]:
    yield "ABSTRACT SYNTAX TREE:"
    yield from command.tree.splitlines()


def _formatted(command: Explain, session: EngineSession) -> Iterator[str]:
    """Yield JSON text: the kind of statement, and its operators from the result down."""
    statement = command.statement
    kind = "Query" if isinstance(statement, LogicalPlan) else type(statement).__name__
    queries = (statement,) if isinstance(statement, LogicalPlan) else queries_of(statement)
    plans = [_operator(plan_steps(session, plan)[1].root) for plan in queries]
    yield json.dumps({"statement": kind, "plans": plans}, ensure_ascii=False)


def _operator(plan: PhysicalPlan) -> dict[str, object]:
    inputs = [_operator(child) for child in plan.children]
    return {"operator": type(plan).__name__, "label": plan.label} | ({"inputs": inputs} if inputs else {})


def _vectorization(command: Explain, session: EngineSession) -> Iterator[str]:
    yield "PLAN VECTORIZATION:"
    yield "  enabled: true"
    yield "  enabledConditionsMet: [every operator works on batches of columns]"
    for plan in _explained_plans(command):
        yield ""
        yield from plan_steps(session, plan)[1].root.explain().splitlines()


FORMS: dict[str, Lines] = {
    "formatted": _formatted,
    "dependency": dependency_lines,
    "authorization": authorization_lines,
    "locks": lock_lines,
    "logical": _logical,
    "cbo": _optimized,
    "rewrite": _optimized,
    "cost": _cost,
    "optimizer": _rules,
    "ast": _tree,
    "vectorization": _vectorization,
}
