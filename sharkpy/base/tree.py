"""Generic immutable tree with one traversal: the base of expressions, logical plans and physical plans."""

from __future__ import annotations

import builtins
import dataclasses
import functools
import operator
import sys
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Generic, Self, TypeVar

from sharkpy.base.cancellation import check_cancelled

F = TypeVar("F", bound="TreeNode[Any]")
"""The family of a tree."""
N = TypeVar("N", bound="TreeNode[Any]")
_NODES_BETWEEN_CHECKS = 1024


class TreeNode(Generic[F]):
    """Base of frozen, slotted dataclasses that form a tree.

    1. Nodes are immutable and compare by structure.
    2. A node holds the nodes in its fields, also in tuples, in field order. A field whose annotation allows no node,
       such as `str`, is skipped.
    3. The children are the nodes of the same `family` that a node holds.
    4. Transformations return the same object if nothing changed, so `is` detects a fixed point.
    5. Transformations and `walk` raise if the statement of the thread is cancelled.
    """

    __slots__ = ()
    family: ClassVar[type[Any]]

    def held(self, family: type[N]) -> tuple[N, ...]:
        """Return the nodes of `family` that this node holds directly."""
        found = _HELD[family][type(self)]
        return () if found is None else found(self)

    def map_held(self, family: type[N], function: Callable[[N], N]) -> Self:
        """Return this node with `function` applied to every node of `family` that it holds directly."""
        fields = _FIELDS[family][type(self)]
        if not fields:
            return self
        check_cancelled()
        changed: dict[int, Any] | None = None
        for place, name, form in fields:
            old: Any = getattr(self, name)
            new = old
            if form == _NODE:
                new = function(old)
            elif form == _NODES:
                # Not a comprehension, which would be a frame of its own on each level.
                mapped = []
                for value in old:
                    mapped.append(function(value))  # noqa: PERF401
                if not all(map(operator.is_, old, mapped)):
                    new = tuple(mapped)
            elif isinstance(old, family):
                new = function(old)
            elif isinstance(old, tuple):
                new = _mapped(old, family, function)
            if new is not old:
                changed = {**changed, place: new} if changed else {place: new}
        if changed is None:
            return self
        names = field_names(type(self))
        return type(self)(
            *[changed[place] if place in changed else getattr(self, name) for place, name in enumerate(names)]
        )

    @property
    def children(self) -> tuple[F, ...]:
        return self.held(self.family)

    def map_children(self, function: Callable[[F], F]) -> Self:
        return self.map_held(self.family, function)

    def with_children(self, *children: F) -> Self:
        """Return this node with other children, as many as it has."""
        given = iter(children)
        return self.map_held(self.family, lambda _: next(given))

    def transform_up(self, function: Callable[[F], F]) -> F:
        """Apply `function` to every node, children first."""
        return _Upwards(self.family, function).visit(self)  # type: ignore[no-any-return]

    def transform_down(self, function: Callable[[F], F]) -> F:
        """Apply `function` to every node, parents first. Children of a replacement are visited too."""
        return _Downwards(self.family, function).visit(self)  # type: ignore[no-any-return]

    def walk(self) -> Iterator[F]:
        """Yield this node and all its descendants, parents first."""
        waiting: list[Any] = [self]
        held = _HELD[self.family]
        num_unchecked = 0
        while waiting:
            num_unchecked += 1
            if num_unchecked == _NODES_BETWEEN_CHECKS:
                num_unchecked = 0
                check_cancelled()
            node = waiting.pop()
            yield node
            find = held[type(node)]
            if find is not None:
                waiting += find(node)[::-1]


# Not nested functions that call themselves: the cycle would keep `function` alive until a garbage collection. `visit`
# and `map_held` are the only frames of a level.


class _Upwards:
    __slots__ = ("_family", "_fields", "_function")

    def __init__(self, family: type[Any], function: Callable[[Any], Any]) -> None:
        self._family, self._fields, self._function = family, _FIELDS[family], function

    def visit(self, node: Any) -> Any:
        if self._fields[type(node)]:
            node = node.map_held(self._family, self.visit)
        return self._function(node)


class _Downwards:
    __slots__ = ("_family", "_function")

    def __init__(self, family: type[Any], function: Callable[[Any], Any]) -> None:
        self._family, self._function = family, function

    def visit(self, node: Any) -> Any:
        return self._function(node).map_held(self._family, self.visit)


def _collect(values: tuple[Any, ...], family: type, found: list[Any]) -> None:
    for value in values:
        if isinstance(value, family):
            found.append(value)
        elif isinstance(value, tuple):
            _collect(value, family, found)


def _mapped(values: tuple[Any, ...], family: type, function: Callable[[Any], Any]) -> tuple[Any, ...]:
    """Apply `function` to the nodes in `values`. Return the same tuple if none changed."""
    mapped = [
        function(value)
        if isinstance(value, family)
        else _mapped(value, family, function)
        if isinstance(value, tuple)
        else value
        for value in values
    ]
    return values if all(map(operator.is_, values, mapped)) else tuple(mapped)


_FIELD_NAMES: dict[type, tuple[str, ...]] = {}


def field_names(node_type: type) -> tuple[str, ...]:
    names = _FIELD_NAMES.get(node_type)
    if names is None:
        names = _FIELD_NAMES[node_type] = tuple(field.name for field in dataclasses.fields(node_type))
    return names


_NODE, _NODES, _OTHER = range(3)
"""Forms of fields: always a node, always a tuple of nodes, or anything that may hold nodes."""
_Field = tuple[int, str, int]
"""Place and name of a field, and its form."""
_T = TypeVar("_T")


class _ByType(dict[type, _T]):
    """Facts about node types for one family, computed at the first lookup."""

    def __init__(self, family: type, compute: Callable[[type, type], _T]) -> None:
        super().__init__()
        self._family, self._compute = family, compute

    def __missing__(self, node_type: type) -> _T:
        found = self[node_type] = self._compute(node_type, self._family)
        return found


class _ByFamily(dict[type, _ByType[_T]]):
    def __init__(self, compute: Callable[[type, type], _T]) -> None:
        super().__init__()
        self._compute = compute

    def __missing__(self, family: type) -> _ByType[_T]:
        found = self[family] = _ByType(family, self._compute)
        return found


def _fields_with_nodes(node_type: type, family: type) -> tuple[_Field, ...]:
    found = []
    for place, name in enumerate(field_names(node_type)):
        annotation = _annotation(node_type, name)
        if _allows(annotation, family):
            found.append((place, name, _form(annotation, family)))
    return tuple(found)


def _form(annotation: Any, family: type) -> int:
    arguments = typing.get_args(annotation)
    if typing.get_origin(annotation) is tuple:
        is_plain = len(arguments) == 2 and arguments[1] is Ellipsis and _form(arguments[0], family) == _NODE
        return _NODES if is_plain else _OTHER
    members = arguments if typing.get_origin(annotation) in _UNIONS else (annotation,)
    return _NODE if all(isinstance(one, type) and issubclass(one, family) for one in members) else _OTHER


def _finder(node_type: type, family: type) -> Callable[[Any], tuple[Any, ...]] | None:
    """Return the function that finds the nodes which a node of a type holds, or None if it can hold none."""
    fields = _FIELDS[family][node_type]
    forms = [form for _, _, form in fields]
    if not fields:
        return None
    if len(fields) > 1 and set(forms) == {_NODE}:
        return operator.attrgetter(*(name for _, name, _ in fields))
    if forms == [_NODES]:
        return operator.attrgetter(fields[0][1])
    if forms == [_NODE]:
        only = operator.attrgetter(fields[0][1])
        return lambda node: (only(node),)
    return functools.partial(_find, family, tuple((name, form) for _, name, form in fields))


def _find(family: type, fields: tuple[tuple[str, int], ...], node: Any) -> tuple[Any, ...]:
    found: list[Any] = []
    for name, form in fields:
        value = getattr(node, name)
        if form == _NODES:
            found += value
        elif form == _NODE or isinstance(value, family):
            found.append(value)
        elif isinstance(value, tuple):
            _collect(value, family, found)
    return tuple(found)


_UNIONS = (types.UnionType, typing.Union)
_FIELDS: _ByFamily[tuple[_Field, ...]] = _ByFamily(_fields_with_nodes)
_HELD: _ByFamily[Callable[[Any], tuple[Any, ...]] | None] = _ByFamily(_finder)


def node_fields(node_type: type, family: type) -> tuple[str, ...]:
    """Return the fields whose annotations allow nodes of `family`, in field order."""
    return tuple(name for _, name, _ in _FIELDS[family][node_type])


def _annotation(node_type: type, name: str) -> Any:
    """Return the annotated type of a field. Names that are imported only for type checkers become `Any`."""
    owner = next(base for base in node_type.__mro__ if name in vars(base).get("__annotations__", ()))
    annotation = vars(owner)["__annotations__"][name]
    names = _ModuleNames(sys.modules[owner.__module__].__dict__)
    return eval(annotation, {}, names) if isinstance(annotation, str) else annotation


class _ModuleNames(dict[str, Any]):
    """The names of a module, with `Any` for missing names."""

    def __missing__(self, name: str) -> Any:
        return getattr(builtins, name, Any)


def _allows(annotation: Any, family: type) -> bool:
    """Return whether a value of this type can be a node of `family`, or a tuple that holds one."""
    arguments = typing.get_args(annotation)
    if arguments:
        return any(_allows(argument, family) for argument in arguments)
    if isinstance(annotation, type):
        return issubclass(annotation, family) or issubclass(family, annotation)
    return annotation is Any
