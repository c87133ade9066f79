"""Choose the order of inner joins by estimated cost, with the smaller input on the right (build) side."""

from __future__ import annotations

from heapq import heappop, heappush

from sharkpy.base.cancellation import check_cancelled
from sharkpy.base.records import dataclass
from sharkpy.optimizer.context import Context, keep_columns
from sharkpy.optimizer.join_graph import (
    JoinGraph,
    build_graph,
    flatten_joins,
    is_reorderable,
    join_step,
    step_condition,
)
from sharkpy.plan.logical import Join, JoinKind, LogicalPlan, Union

MAX_EXACT_RELATIONS = 10
MAX_EXACT_PAIRS = 1500
"""Most pairs of sets that the exact search may compare. Beyond that, the search is greedy."""
_BUILD_FACTOR = 1.5
"""Cost of adding a row to a hash table, relative to a lookup."""
_PAIR_FACTOR = 0.1
"""Cost of comparing a pair of rows without an equality."""


@dataclass(frozen=True, slots=True)
class Order:
    """The best join found for a set of relations: a pair of orders, or one relation."""

    mask: int
    cost: float
    rows: float
    inputs: tuple[Order, Order] | None = None


@dataclass(frozen=True, slots=True)
class _Numbered:
    number: int
    order: Order
    neighbours: int


def reorder_joins(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Order joins by exact search over connected sets of at most 10 relations (DPsize), else greedily."""
    return keep_columns(_reorder(plan, context), plan.output)


def _reorder(plan: LogicalPlan, context: Context) -> LogicalPlan:
    """Return `plan` with its joins in the best order. The order of its columns may change."""
    if isinstance(plan, Union):
        return plan.map_children(lambda child: reorder_joins(child, context))
    if not is_reorderable(plan):
        return plan.map_children(lambda child: _reorder(child, context))
    relations, terms = flatten_joins(plan)
    if not all(map(context.is_deterministic, terms)):
        return plan.map_children(lambda child: _reorder(child, context))
    graph = build_graph([_reorder(relation, context) for relation in relations], terms, context)
    joined = _build(_best_order(graph), graph)
    return plan if joined == plan else joined


def _best_order(graph: JoinGraph) -> Order:
    leaves = [Order(1 << index, 0.0, rows) for index, rows in enumerate(graph.rows)]
    parts = [_search(component, graph) for component in _components(leaves, graph)]
    parts.sort(key=lambda order: -order.rows)
    result = parts[0]
    for part in parts[1:]:
        result = _joined(result, part, graph)
    return result


def _components(leaves: list[Order], graph: JoinGraph) -> list[list[Order]]:
    found: list[list[Order]] = []
    rest = (1 << len(leaves)) - 1
    while rest:
        component = rest & -rest
        while True:
            grown = component
            for index, neighbours in enumerate(graph.neighbours):
                if component >> index & 1:
                    grown |= neighbours
            if grown == component:
                break
            component = grown
        found.append([leaf for leaf in leaves if leaf.mask & component])
        rest &= ~component
    return found


def _joined(one: Order, other: Order, graph: JoinGraph) -> Order:
    rows, has_equality = join_step(graph, one.mask, one.rows, other.mask, other.rows)
    left, right = (one, other) if one.rows >= other.rows else (other, one)
    cost = one.cost + other.cost + _join_cost(left.rows, right.rows, rows, has_equality)
    return Order(one.mask | other.mask, cost, rows, (left, right))


def _join_cost(probe_rows: float, build_rows: float, output_rows: float, has_equality: bool) -> float:
    """Return the cost of one join in rows, without its inputs: enough to compare two orders."""
    if not has_equality:
        return probe_rows + build_rows + _PAIR_FACTOR * probe_rows * build_rows + output_rows
    return probe_rows + _BUILD_FACTOR * build_rows + output_rows


def _neighbours(mask: int, graph: JoinGraph) -> int:
    result = 0
    for index, neighbours in enumerate(graph.neighbours):
        if mask >> index & 1:
            result |= neighbours
    return result


def _search(leaves: list[Order], graph: JoinGraph) -> Order:
    if len(leaves) == 1:
        return leaves[0]
    exact = _exact(leaves, graph) if len(leaves) <= MAX_EXACT_RELATIONS else None
    return exact or _greedy(leaves, graph)


def _exact(leaves: list[Order], graph: JoinGraph) -> Order | None:
    """Return the cheapest order without cross products, or None if too many pairs would be compared."""
    best = {leaf.mask: leaf for leaf in leaves}
    adjacent = {leaf.mask: _neighbours(leaf.mask, graph) for leaf in leaves}
    by_size: list[list[int]] = [[], [leaf.mask for leaf in leaves]]
    compared = 0
    for size in range(2, len(leaves) + 1):
        found: dict[int, Order] = {}
        for small in range(1, size // 2 + 1):
            for one in by_size[small]:
                near = adjacent[one]
                for other in by_size[size - small]:
                    if one & other or not near & other or (small * 2 == size and one > other):
                        continue
                    compared += 1
                    order = _joined(best[one], best[other], graph)
                    known = found.get(order.mask)
                    if known is None or order.cost < known.cost:
                        found[order.mask] = order
            if compared > MAX_EXACT_PAIRS:
                return None
        by_size.append(list(found))
        for mask, order in found.items():
            best[mask] = order
            adjacent[mask] = _neighbours(mask, graph)
    return best.get(sum(leaf.mask for leaf in leaves))


def _greedy(leaves: list[Order], graph: JoinGraph) -> Order:
    """Repeatedly join the pair with the fewest result rows. Ties are broken by age, the oldest pair first."""
    orders: dict[int, _Numbered] = {}
    pairs: list[tuple[float, int, int, Order]] = []

    def add(order: Order, neighbours: int) -> None:
        """Add an order, and its joins with adjacent orders. Each pair is compared once."""
        check_cancelled()
        number = len(added)
        added.append(order)
        for other in orders.values():
            if neighbours & other.order.mask:
                joined = _joined(other.order, order, graph)
                heappush(pairs, (joined.rows, other.number, number, joined))
        orders[order.mask] = _Numbered(number, order, neighbours)

    added: list[Order] = []
    for leaf in leaves:
        add(leaf, _neighbours(leaf.mask, graph))
    while len(orders) > 1:
        if pairs:
            chosen = heappop(pairs)[-1]
        else:
            first, *others = (one.order for one in orders.values())
            chosen = min((_joined(first, other, graph) for other in others), key=lambda order: order.rows)
        if chosen.inputs is None or any(one.mask not in orders for one in chosen.inputs):
            continue  # a part of it is in another join by now
        near = [orders.pop(one.mask).neighbours for one in chosen.inputs]
        add(chosen, (near[0] | near[1]) & ~chosen.mask)
    return added[-1]


def _build(order: Order, graph: JoinGraph) -> LogicalPlan:
    if order.inputs is None:
        return graph.relations[order.mask.bit_length() - 1]
    left, right = order.inputs
    condition = step_condition(graph, left.mask, right.mask)
    kind = JoinKind.CROSS if condition is None else JoinKind.INNER
    return Join(_build(left, graph), _build(right, graph), kind, condition)
