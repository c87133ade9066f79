"""The driver of the rules: their names, rules switched off, what a trace shows, and checks after each rule."""

from __future__ import annotations

import pytest

from sharkpy.base.errors import ConfigurationError, InternalError
from sharkpy.base.settings import Conf
from sharkpy.optimizer.batches import BATCHES, RULES, Batch, Rewriting, Rule, excluded_rules
from sharkpy.optimizer.context import Context, NoStatistics
from sharkpy.optimizer.optimize import RuleChecks, Trace, changed_lines, dangling_columns, optimize, run_batch
from sharkpy.plan.expr import ColumnRef
from sharkpy.plan.logical import Filter, JoinKind, LogicalPlan, Project, Scan
from sharkpy.values.types import STRING
from tests.optimizer.builder import context, eq, gt, join, lt, nodes, scan, select, where

A, B, S = scan("t1", 1).columns
C = scan("t2", 4).columns[0]


def excluding(names: str) -> Conf:
    return Conf({"shark.optimizer.excluded.rules": names})


def applied(plan: LogicalPlan, *rewritings: Rewriting, rounds: int = 1) -> LogicalPlan:
    """`plan` after a batch of rules made of `rewritings`, checked."""
    batch = Batch("made up", tuple(Rule(one.__name__, one) for one in rewritings), rounds, "")
    return run_batch(plan, batch, context(plan), observers=(RuleChecks(),))


def test_every_rule_has_the_name_of_its_function_and_one_row() -> None:
    rules = [rule for batch in BATCHES for rule in batch.rules]
    assert {rule.name for rule in rules} == {rule.apply.__name__ for rule in rules} == set(RULES)
    for rule in rules:
        assert RULES[rule.name] is rule
    assert {rule.name for rule in rules if rule.needed_for} == {"unnest_subqueries"}


def test_an_excluded_rule_is_not_applied() -> None:
    plan = where(scan("t1", 1), gt(A, 1))
    assert not nodes(optimize(plan, NoStatistics(), Conf()), Filter)
    assert nodes(optimize(plan, NoStatistics(), excluding(" Push_Down_Filters ,,remove_sorts")), Filter)


def test_names_to_exclude_are_those_of_rules() -> None:
    assert excluded_rules(Conf()) == frozenset()
    assert excluded_rules(excluding(" Push_Down_Filters ,,remove_sorts")) == {"push_down_filters", "remove_sorts"}
    with pytest.raises(ConfigurationError, match='no optimizer rule "push_filters"') as error:
        excluded_rules(excluding("push_filters"))
    assert error.value.hint == 'did you mean "push_down_filters"?'
    with pytest.raises(ConfigurationError, match='no optimizer rule "xyz"') as error:
        excluded_rules(excluding("remove_sorts,xyz"))
    assert error.value.hint is not None
    assert "eliminate_distinct, " in error.value.hint


def test_a_rule_that_nothing_runs_without_cannot_be_excluded() -> None:
    with pytest.raises(ConfigurationError, match='"unnest_subqueries" cannot be excluded') as error:
        optimize(scan("t1", 1), NoStatistics(), excluding("unnest_subqueries"))
    assert error.value.hint == "without it there are no queries with subqueries and LATERAL joins"


def test_a_trace_shows_what_each_rule_took_away_and_added() -> None:
    plan = where(join(scan("t1", 1), scan("t2", 4), eq(A, C), JoinKind.LEFT), gt(C, 1))
    trace = Trace()
    optimize(plan, NoStatistics(), excluding("prune_columns"), (trace,))
    assert trace.lines == [
        "== eliminate_outer_joins: batch filters, round 1 ==",
        "  Filter (a#4 > 1)",
        "-   Join left on (a#1 = a#4)",
        "+   Join inner on (a#1 = a#4)",
        "      Scan default.t1 [a#1, b#2, s#3]",
        "  ...",
        "== push_down_filters: batch filters, round 1 ==",
        "- Filter (a#4 > 1)",
        "  Join inner on (a#1 = a#4)",
        "    Scan default.t1 [a#1, b#2, s#3]",
        "-     Scan default.t2 [a#4, b#5, s#6]",
        "+   Scan default.t2 [a#4, b#5, s#6] where (a#4 > 1)",
        "== infer_predicates: batch filters, round 1 ==",
        "  Join inner on (a#1 = a#4)",
        "+   Filter (a#1 > 1)",
        "      Scan default.t1 [a#1, b#2, s#3]",
        "  ...",
        "== push_down_filters: batch filters, round 2 ==",
        "  Join inner on (a#1 = a#4)",
        "-   Filter (a#1 > 1)",
        "-     Scan default.t1 [a#1, b#2, s#3]",
        "+   Scan default.t1 [a#1, b#2, s#3] where (a#1 > 1)",
        "    Scan default.t2 [a#4, b#5, s#6] where (a#4 > 1)",
    ]


def test_lines_that_only_move_in_or_out_are_no_changes() -> None:
    assert list(changed_lines(["A", "  B", "    C"], ["B", "  C"])) == ["- A", "  B", "  ..."]
    assert list(changed_lines(["A", "  B"], ["A", "  B"])) == []


def test_a_batch_that_goes_on_changing_is_told() -> None:
    def turn(plan: LogicalPlan, _context: Context) -> LogicalPlan:
        return where(scan("t1", 1), lt(A, 1) if "<" not in plan.label else gt(A, 1))

    plan = where(scan("t1", 1), gt(A, 1))
    batch, trace = Batch("endless", (Rule("turn", turn),), 3, ""), Trace()
    run_batch(plan, batch, context(plan), observers=(trace,))
    assert trace.lines[-1] == "== batch endless: still changing after 3 rounds =="
    assert trace.lines[0] == "== turn: batch endless, round 1 =="
    with pytest.raises(InternalError, match='no fixed point of batch "made up" after 3 rounds'):
        applied(plan, turn, rounds=3)
    assert applied(plan, turn).label == "Filter (a#1 < 1)"


@pytest.mark.parametrize(
    "columns",
    [(A,), (B, A), (A, ColumnRef(2, "b", STRING)), (A, ColumnRef(2, "c", B.dtype))],
    ids=["fewer", "in another order", "of another type", "under another name"],
)
def test_a_rule_that_changes_the_output_fails_by_its_name(columns: tuple[ColumnRef, ...]) -> None:
    def keep(plan: LogicalPlan, _context: Context) -> LogicalPlan:
        return select(plan, A, B)

    def spoil(plan: LogicalPlan, _context: Context) -> LogicalPlan:
        return select(plan.children[0], *columns)

    plan = select(scan("t1", 1), A, B)
    assert applied(plan, keep) == Project(plan, (A, B))
    with pytest.raises(InternalError, match=r'the rule "spoil" \(batch "made up"\) changed the output from a#1 int, b'):
        applied(plan, keep, spoil)


def test_a_rule_that_takes_a_column_away_that_is_used_fails_by_its_name() -> None:
    def narrow(plan: LogicalPlan, _context: Context) -> LogicalPlan:
        return select(where(select(scan("t1", 1), A), gt(B, 1)), A)

    plan = select(where(scan("t1", 1), gt(B, 1)), A)
    assert dangling_columns(plan) == frozenset()
    with pytest.raises(
        InternalError, match=r'the rule "narrow" \(batch "made up"\) left columns that no node produces: \[2\]'
    ):
        applied(plan, narrow)


def test_the_suite_checks_each_rule() -> None:
    def broken(plan: LogicalPlan, _context: Context) -> LogicalPlan:
        return Scan(plan.table, (A,), ("a",)) if isinstance(plan, Scan) else plan

    from sharkpy.base import settings

    assert Conf().value(settings.CHECK_RULES)
    with pytest.raises(InternalError, match='"broken"'):
        applied(scan("t1", 1), broken)
