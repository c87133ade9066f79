"""Generic immutable tree with one traversal: the base of expressions, logical plans and physical plans."""

from __future__ import annotations

import builtins
import dataclasses
import operator
import sys
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

    def held(self, family: type[N]) -> list[N]:
        """Return the nodes of `family` that this node holds directly."""
        found: list[N] = []
        for name in _NODE_FIELDS[family][type(self)]:
            value = getattr(self, name)
            if isinstance(value, family):
                found.append(value)
            elif isinstance(value, tuple):
                _collect(value, family, found)
        return found

    def map_held(self, family: type[N], function: Callable[[N], N]) -> Self:
        """Return this node with `function` applied to every node of `family` that it holds directly."""
        fields = _NODE_FIELDS[family][type(self)]
        if not fields:
            return self
        check_cancelled()
        changed: dict[str, object] | None = None
        for name in fields:
            old = getattr(self, name)
            new: object = old
            if isinstance(old, family):
                new = function(old)
            elif isinstance(old, tuple):
                new = _mapped(old, family, function)
            if new is not old:
                changed = {**changed, name: new} if changed else {name: new}
        if changed is None:
            return self
        names = field_names(type(self))
        return type(self)(*[changed[name] if name in changed else getattr(self, name) for name in names])

    @property
    def children(self) -> tuple[F, ...]:
        return tuple(self.held(self.family))

    def map_children(self, function: Callable[[F], F]) -> Self:
        return self.map_held(self.family, function)

    def with_children(self, *children: F) -> Self:
        """Return this node with other children, as many as it has."""
        given = iter(children)
        return self.map_held(self.family, lambda _: next(given))

    def transform_up(self, function: Callable[[F], F]) -> F:
        """Apply `function` to every node, children first."""
        # Not a nested function that calls itself: the cycle would keep `function` alive until a garbage collection.
        return _up(self, self.family, function)  # type: ignore[return-value]

    def transform_down(self, function: Callable[[F], F]) -> F:
        """Apply `function` to every node, parents first. Children of a replacement are visited too."""
        return _down(self, self.family, function)  # type: ignore[return-value]

    def walk(self) -> Iterator[F]:
        """Yield this node and all its descendants, parents first."""
        waiting: list[Any] = [self]
        family = self.family
        fields = _NODE_FIELDS[family]
        num_unchecked = 0
        while waiting:
            num_unchecked += 1
            if num_unchecked == _NODES_BETWEEN_CHECKS:
                num_unchecked = 0
                check_cancelled()
            node = waiting.pop()
            yield node
            if fields[type(node)]:
                held = node.held(family)
                held.reverse()
                waiting += held


def _up(node: TreeNode[Any], family: type[Any], function: Callable[[Any], Any]) -> TreeNode[Any]:
    if _NODE_FIELDS[family][type(node)]:
        node = node.map_held(family, lambda child: _up(child, family, function))
    return function(node)  # type: ignore[no-any-return]


def _down(node: TreeNode[Any], family: type[Any], function: Callable[[Any], Any]) -> TreeNode[Any]:
    return function(node).map_held(family, lambda child: _down(child, family, function))  # type: ignore[no-any-return]


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


class _FieldsByType(dict[type, tuple[str, ...]]):
    """Fields that may hold nodes of a family, by the type of their node; computed at the first lookup."""

    def __init__(self, family: type) -> None:
        super().__init__()
        self._family = family

    def __missing__(self, node_type: type) -> tuple[str, ...]:
        family = self._family
        names = tuple(name for name in field_names(node_type) if _allows(_annotation(node_type, name), family))
        self[node_type] = names
        return names


class _FieldsByFamily(dict[type, _FieldsByType]):
    def __missing__(self, family: type) -> _FieldsByType:
        found = self[family] = _FieldsByType(family)
        return found


_NODE_FIELDS = _FieldsByFamily()


def node_fields(node_type: type, family: type) -> tuple[str, ...]:
    """Return the fields whose annotations allow nodes of `family`, in field order."""
    return _NODE_FIELDS[family][node_type]


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
