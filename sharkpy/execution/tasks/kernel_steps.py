"""Program of the vector machine for a kernel: steps, in the order in which they leave rows, and what its totals are."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sharkpy.base.errors import ResourceError
from sharkpy.base.records import dataclass
from sharkpy.columnar.machine_steps import NULL, WIDTH, Step
from sharkpy.physical.kernel_code import STORED, Code, column_code
from sharkpy.physical.stage_program import FirstRows, GroupKey, KernelColumns, Lookup

Numbers = np.ndarray[Any, np.dtype[np.int64]]
MOST_DIRECT = 1 << 16
"""Number of possible keys up to which each has its place. More keys are found in a table."""
_LANES, _FEW_GROUPS = 4, 64
"""Few groups have several places each, so that rows of one group one after the other do not wait for each other."""
_BINARY = {
    "add": Step.ADD,
    "subtract": Step.SUBTRACT,
    "multiply": Step.MULTIPLY,
    "equal": Step.EQUAL,
    "not_equal": Step.NOT_EQUAL,
    "less": Step.LESS,
    "less_equal": Step.LESS_EQUAL,
    "and": Step.AND,
    "or": Step.OR,
}
_TOTALS = {"sum": Step.SUM, "sum_real": Step.SUM_REAL, "count": Step.COUNT_VALID, "min": Step.MIN, "max": Step.MAX}
_LOWEST, _HIGHEST = NULL + 1, (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class PackedKey:
    """Key as a part of the packed key: (packed // stride) % size + low. `null` stands for NULL, if that may be."""

    key: GroupKey
    stride: int
    size: int
    null: int | None


@dataclass(frozen=True, slots=True)
class Total:
    """Aggregate: the place of its total, and of the number of values in it if that may be zero.

    Each value is greater by `offset` than the one in the total.
    """

    alias: str
    place: int
    num_values: int | None
    offset: int = 0
    is_real: bool = False


@dataclass(frozen=True, slots=True)
class MachineProgram:
    """Steps over columns, by place.

    `constants` are registers with one value, `num_registers` all. Group g of `num_groups` is in the rows from
    g * `lanes` on of the totals. Without `num_groups`, keys are found in a table. `totals` are the steps that make the
    columns of the totals; the first counts rows.
    """

    steps: Numbers
    columns: tuple[Code, ...]
    constants: tuple[tuple[int, int], ...]
    num_registers: int
    keys: tuple[PackedKey, ...]
    num_groups: int | None
    lanes: int
    totals: tuple[Step, ...]
    results: tuple[Total, ...]


@functools.lru_cache(maxsize=256)
def machine_program(
    kernel: KernelColumns, nullable: frozenset[str], sizes: tuple[int, ...] | None = None
) -> MachineProgram:
    """Return the program, for rows whose columns other than the `nullable` ones have no NULLs.

    `sizes` are the numbers of codes of the keys; 0 for a key that is not coded.
    """
    return _Assembler(nullable).program(kernel, sizes or (0,) * len(kernel.keys))


@functools.lru_cache(maxsize=256)
def selection_program(
    conditions: tuple[Code, ...], members: tuple[str, ...], nullable: frozenset[str]
) -> MachineProgram:
    """Return the program that emits the rows for which all `conditions` are true.

    Column `members[i]` has to be in set i, too.
    """
    return _Assembler(nullable).selection(conditions, members)


@functools.lru_cache(maxsize=256)
def first_program(first: FirstRows, nullable: frozenset[str], *, is_open: bool) -> MachineProgram:
    """Return the program that emits the rows that may be the first ones of their groups, by the groups' heaps.

    If `is_open`, each of these rows gets into its group's heap.
    """
    return _Assembler(nullable).first(first, is_open=is_open)


class _Assembler:
    def __init__(self, nullable: frozenset[str]) -> None:
        self._nullable = nullable
        self._steps: list[tuple[int, ...]] = []
        self._columns: dict[Code, int] = {}
        self._constants: dict[int, int] = {}
        self._values: dict[Code, int] = {}
        """Registers that have a value, until the next filter."""
        self._num_registers = 0
        self._totals: dict[tuple[Step, Code | None], int] = {}
        self._lookups: dict[str, tuple[int, Code]] = {}
        """Number and key of the lookup of a column, by name."""

    def program(self, kernel: KernelColumns, sizes: tuple[int, ...]) -> MachineProgram:
        self._join(kernel.conditions, kernel.lookups)
        sized = (replace(key, high=size - 1) if size else key for key, size in zip(kernel.keys, sizes, strict=True))
        keys, num_groups, lanes = self._grouped(tuple(sized))
        self._total(Step.COUNT, None)
        results = tuple(self._result(alias, code) for alias, code in kernel.aggregates)
        return self._finished(keys, num_groups, lanes, results)

    def selection(self, conditions: tuple[Code, ...], members: tuple[str, ...]) -> MachineProgram:
        self._filter(conditions)
        for number, alias in enumerate(members):
            self._emit(Step.MEMBER, self._value(column_code(alias)), number)
            self._values.clear()
        self._emit(Step.EMIT)
        return self._finished((), 1, 1, ())

    def first(self, first: FirstRows, *, is_open: bool) -> MachineProgram:
        keys, num_groups, _ = self._grouped(first.groups, is_direct=True)
        register = self._value(first.order)
        if first.order.op == "real":
            register = self._step(Step.ORDERED, register)
        if self._may_be_null(first.order):
            is_least = first.nulls_first == first.ascending
            register = self._step(Step.NULLS, register, _LOWEST if is_least else _HIGHEST)
        if not first.ascending:
            # It is -1 - x, which has the opposite order and does not overflow.
            register = self._step(Step.SUBTRACT, self._value(Code("constant", number=-1)), register)
        self._emit(Step.FIRST, register, int(is_open))
        return self._finished(keys, num_groups, 1, ())

    def _step(self, step: Step, *operands: int) -> int:
        """Emit a step that writes a new register, which is returned."""
        register = self._register()
        self._emit(step, register, *operands)
        return register

    def _join(self, conditions: tuple[Code, ...], lookups: tuple[Lookup, ...]) -> None:
        """Emit the filters and the lookups that leave rows; the filters that need no lookup come first."""
        for number, lookup in enumerate(lookups):
            self._lookups |= dict.fromkeys(lookup.blocks.aliases, (number, lookup.key))
        self._filter(tuple(one for one in conditions if self._lookups.keys().isdisjoint(one.columns())))
        for number, lookup in enumerate(lookups):
            if not lookup.keeps_all:
                self._emit(Step.MEMBER, self._value(lookup.key), number)
                self._values.clear()
        self._filter(tuple(one for one in conditions if not self._lookups.keys().isdisjoint(one.columns())))

    def _filter(self, conditions: tuple[Code, ...]) -> None:
        for code, low, high in _ranges(conditions):
            self._emit(Step.FILTER, self._value(code), low, high)
            self._values.clear()

    def _finished(
        self, keys: tuple[PackedKey, ...], num_groups: int | None, lanes: int, results: tuple[Total, ...]
    ) -> MachineProgram:
        steps = np.zeros((len(self._steps), WIDTH), np.int64)
        for place, step in enumerate(self._steps):
            steps[place, : len(step)] = step
        constants = tuple((register, number) for number, register in self._constants.items())
        totals = tuple(step for step, _ in self._totals)
        registers = constants, self._num_registers
        return MachineProgram(steps, tuple(self._columns), *registers, keys, num_groups, lanes, totals, results)

    def _emit(self, step: Step, *operands: int) -> None:
        self._steps.append((step, *operands))

    def _register(self) -> int:
        self._num_registers += 1
        return self._num_registers - 1

    def _value(self, code: Code) -> int:
        """Return the register with a value, computed now if it is in none."""
        known = self._values.get(code)
        if known is None:
            known = self._values[code] = self._computed(code)
        return known

    def _computed(self, code: Code) -> int:
        if code.op in ("constant", "null"):
            number = NULL if code.op == "null" else code.number
            if number not in self._constants:
                self._constants[number] = self._register()
            return self._constants[number]
        if code.op in STORED:
            return self._stored(code)
        args = [self._value(arg) for arg in code.args]
        register = self._register()
        match code.op:
            case "not":
                self._emit(Step.NOT, register, *args)
            case "is_null":
                self._emit(Step.IS_NULL, register, *args)
            case "choose":
                self._emit(Step.CHOOSE, register, *args)
            case op:
                self._emit(_BINARY[op], register, *args)
        return register

    def _stored(self, code: Code) -> int:
        number, key = self._lookups.get(code.name, (None, None))
        at = None if key is None else self._value(key)
        register, column = self._register(), self._columns.setdefault(code, len(self._columns))
        if at is None or number is None:
            self._emit(Step.LOAD, register, column)
        else:
            self._emit(Step.LOOKUP, register, at, column, number)
        return register

    def _grouped(
        self, keys: tuple[GroupKey, ...], *, is_direct: bool = False
    ) -> tuple[tuple[PackedKey, ...], int | None, int]:
        """Emit the number of each row's group. Return the packed keys, the number of groups, and their lanes.

        If `is_direct`, each possible key has one place.
        """
        if not keys:
            return (), 1, 1
        packed, stride, register = list[PackedKey](), 1, self._register()
        self._emit(Step.START, register)
        for key in keys:
            null = key.high + 1 if self._may_be_null(key.code) else None
            size = key.high - key.low + 1 + (null is not None)
            value = self._value(key.code)
            if null is not None:
                known, value = value, self._register()
                self._emit(Step.NULLS, value, known, null)
            self._emit(Step.PACK, register, value, key.low, stride)
            packed.append(PackedKey(key, stride, size, null))
            stride *= size
        if stride >= 1 << 63:
            raise ResourceError("the keys of a block do not fit 64 bits", hint="lower shark.block.rows")
        if stride > MOST_DIRECT and not is_direct:
            self._emit(Step.FIND, register)
            return tuple(packed), None, 1
        lanes = _LANES if stride <= _FEW_GROUPS and not is_direct else 1
        self._emit(Step.GROUP, register, lanes)
        return tuple(packed), stride, lanes

    def _result(self, alias: str, code: Code) -> Total:
        if code.op == "count" and (not code.args or not self._may_be_null(code.args[0])):
            return Total(alias, self._total(Step.COUNT, None), None)
        (arg,) = code.args
        if code.op == "sum" and arg.op == "add" and "constant" in (arg.args[0].op, arg.args[1].op):
            # The same total serves sums with other constants.
            value, constant = arg.args if arg.args[1].op == "constant" else arg.args[::-1]
            inner = self._result(alias, Code("sum", (value,)))
            return replace(inner, offset=inner.offset + constant.number)
        place = self._total(_TOTALS[code.op], arg)
        if code.op == "count":
            return Total(alias, place, None)
        is_counted = self._may_be_null(arg)
        counted = self._total(Step.COUNT_VALID, arg) if is_counted else self._total(Step.COUNT, None)
        return Total(alias, place, counted, is_real=code.op == "sum_real")

    def _total(self, step: Step, arg: Code | None) -> int:
        place = self._totals.get((step, arg))
        if place is None:
            place = self._totals[step, arg] = len(self._totals)
            self._emit(step, place, *(() if arg is None else (self._value(arg),)))
        return place

    def _may_be_null(self, code: Code) -> bool:
        match code.op:
            case "null":
                return True
            case "is_null" | "constant":
                return False
            case "column" | "codes" | "real":
                return code.name in self._nullable
            case "choose":
                return any(map(self._may_be_null, code.args[1:]))
        return any(map(self._may_be_null, code.args))


def _ranges(conditions: Iterable[Code]) -> Iterator[tuple[Code, int, int]]:
    """Yield values with the ranges in which they have to be. Ranges of one value are joined."""
    found: dict[Code, tuple[int, int]] = {}
    for term in _terms(conditions):
        code, low, high = _range(term)
        known = found.get(code, (_LOWEST, _HIGHEST))
        found[code] = max(known[0], low), min(known[1], high)
    for code, (low, high) in found.items():
        yield code, low, high


def _terms(conditions: Iterable[Code]) -> Iterator[Code]:
    for condition in conditions:
        if condition.op == "and":
            yield from _terms(condition.args)
        else:
            yield condition


def _range(term: Code) -> tuple[Code, int, int]:
    """Return a condition as a value and its range."""
    if term.op in ("equal", "less", "less_equal"):
        left, right = term.args
        strictly = int(term.op == "less")
        if right.op == "constant":
            low = right.number if term.op == "equal" else _LOWEST
            return left, low, right.number - strictly
        if left.op == "constant":
            high = left.number if term.op == "equal" else _HIGHEST
            return right, left.number + strictly, high
    return term, 1, 1
