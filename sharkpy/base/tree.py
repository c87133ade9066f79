"""Generic immutable tree, of which expressions, logical plans and physical plans are made."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Self

_FIELD_NAMES: dict[type, tuple[str, ...]] = {}


def field_names(node_type: type) -> tuple[str, ...]:
    names = _FIELD_NAMES.get(node_type)
    if names is None:
        names = _FIELD_NAMES[node_type] = tuple(field.name for field in dataclasses.fields(node_type))
    return names


def held_nodes(node: object, family: type) -> list[Any]:
    """The nodes of `family` directly held by a node's fields, in their order, tuples included."""
    found: list[Any] = []
    for name in field_names(type(node)):
        value = getattr(node, name)
        if isinstance(value, family):
            found.append(value)
        elif isinstance(value, tuple):
            _collect(value, family, found)
    return found


def _collect(values: tuple[Any, ...], family: type, found: list[Any]) -> None:
    for value in values:
        if isinstance(value, family):
            found.append(value)
        elif isinstance(value, tuple):
            _collect(value, family, found)


def map_nodes(value: Any, family: type, function: Callable[[Any], Any]) -> Any:
    """`value` with `function` applied to the nodes of `family` it holds; the same object if none changed."""
    if isinstance(value, family):
        return function(value)
    if isinstance(value, tuple):
        mapped = tuple(map_nodes(item, family, function) for item in value)
        return mapped if any(new is not old for new, old in zip(mapped, value, strict=True)) else value
    return value


class TreeNode:
    """Base of frozen, slotted dataclasses that form a tree.

    1. Nodes are immutable and compare by structure.
    2. The children are the nodes of the same `family` in the fields, in field order, tuples included.
    3. Transformations return the same object when nothing changed, so `is` detects a fixed point.
    """

    __slots__ = ()
    family: ClassVar[type]

    @property
    def children(self) -> tuple[Self, ...]:
        return tuple(held_nodes(self, self.family))

    def map_fields(self, family: type, function: Callable[[Any], Any]) -> Self:
        """This node with `function` applied to every node of `family` directly held by it."""
        changed = {}
        for name in field_names(type(self)):
            old = getattr(self, name)
            new = map_nodes(old, family, function)
            if new is not old:
                changed[name] = new
        return dataclasses.replace(self, **changed) if changed else self  # type: ignore[type-var]

    def map_children(self, function: Callable[[Any], Any]) -> Self:
        return self.map_fields(self.family, function)

    def transform_up(self, function: Callable[[Any], Any]) -> Any:
        """Apply `function` to every node, children first."""
        return function(self.map_children(lambda child: child.transform_up(function)))

    def transform_down(self, function: Callable[[Any], Any]) -> Any:
        """Apply `function` to every node, parents first; a replacement's children are visited too."""
        return function(self).map_children(lambda child: child.transform_down(function))

    def walk(self) -> Iterator[Any]:
        """This node and all below it, parents first."""
        waiting: list[Any] = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.children))
