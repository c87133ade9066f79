"""`dataclass` whose methods are compiled when they are first called.

The dataclasses module compiles six methods of each class at import. Hundreds of classes would take a third of the time
of a short statement in a new process, and such a statement calls few of them. Each method is compiled by itself: a
class for them would take six times as long.
"""

from __future__ import annotations

import dataclasses
import reprlib
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]
_making = threading.RLock()

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        eq: bool = True,
        slots: bool = False,
        kw_only: bool = False,
        weakref_slot: bool = False,
    ) -> Any:
        """Make a class with the fields and methods that `dataclasses.dataclass` would give it."""
        if cls is None:
            return lambda cls: _record(cls, frozen, eq, slots, kw_only, weakref_slot)
        return _record(cls, frozen, eq, slots, kw_only, weakref_slot)


def _record(cls: Any, frozen: bool, eq: bool, slots: bool, kw_only: bool, weakref_slot: bool) -> Any:
    own = cls.__dict__
    has_hash = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    names = {"__init__": True, "__repr__": True, "__eq__": eq, "__hash__": eq and frozen}
    wanted = [name for name, is_wanted in names.items() if is_wanted and name not in own]
    if names["__hash__"] and not has_hash and "__hash__" not in wanted:
        wanted.append("__hash__")
    if cls.__doc__ is None:
        # The module would describe the methods here.
        cls.__doc__ = cls.__name__
    made = _with_fields(cls, slots=slots, kw_only=kw_only, weakref_slot=weakref_slot)
    facts = made.__dataclass_params__
    facts.init, facts.repr, facts.eq, facts.frozen = True, True, eq, frozen
    for name in wanted:
        setattr(made, name, _first_call(made, name, frozen))
    if eq and not frozen and not has_hash:
        made.__hash__ = None
    if frozen:
        for name in ("__setattr__", "__delattr__"):
            if name in own:
                raise TypeError(f"a frozen dataclass has its own {name}")
        made.__setattr__, made.__delattr__ = _set_frozen, _delete_frozen
        if slots and "__getstate__" not in own:
            made.__getstate__, made.__setstate__ = _state, _set_state
    return made


def _with_fields(cls: Any, **options: bool) -> Any:
    """Make a dataclass without methods. The module refuses this below a frozen class, so none is while it is made."""
    bases = [base.__dataclass_params__ for base in cls.__mro__[1:] if "__dataclass_params__" in base.__dict__]
    with _making:
        frozen = [facts for facts in bases if facts.frozen]
        for facts in frozen:
            facts.frozen = False
        try:
            return dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
        finally:
            for facts in frozen:
                facts.frozen = True


def _first_call(cls: Any, name: str, frozen: bool) -> Any:
    """Return the method `name` until it is called: then a compiled one replaces it."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if (found := cls.__dict__[name]) is method:
            found = _MADE[name](cls, dataclasses.fields(cls), frozen)
            found.__name__, found.__qualname__ = name, method.__qualname__
            setattr(cls, name, found)
        return found(self, *args, **kwargs)

    method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
    method.__module__ = cls.__module__
    return method


_Fields = tuple[dataclasses.Field[Any], ...]


def _init(cls: Any, fields: _Fields, frozen: bool) -> Any:
    """Compile the method that sets the fields. Names with two underscores at their end are its own."""
    known: dict[str, Any] = {"set__": object.__setattr__, "absent__": dataclasses.MISSING}
    given: dict[bool, list[str]] = {False: ["self"], True: []}
    lines = []
    for one in fields:
        name, value = one.name, one.name
        parameter, default = name, f"{name}_default__"
        if one.default_factory is not dataclasses.MISSING:
            known[default] = one.default_factory
            parameter = f"{name}=absent__"
            value = f"{default}() if {name} is absent__ else {name}" if one.init else f"{default}()"
        elif one.default is not dataclasses.MISSING:
            known[default] = one.default
            parameter = f"{name}={default}"
            value = name if one.init else default
        elif not one.init:
            continue
        if one.init:
            given[bool(one.kw_only)].append(parameter)
        lines.append(f"set__(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join([*given[False], *(["*", *given[True]] if given[True] else ())])
    return _compiled(f"def __init__({parameters}):\n " + "\n ".join(lines or ["pass"]), known)


def _repr(_: Any, fields: _Fields, __: bool) -> Callable[[Any], str]:
    names = [one.name for one in fields if one.repr]

    @reprlib.recursive_repr()
    def method(self: Any) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return method


def _eq(_: Any, fields: _Fields, __: bool) -> Any:
    names = [one.name for one in fields if one.compare]
    equal = f"{_values('self', names)} == {_values('other', names)}"
    condition = "other.__class__ is self.__class__"
    return _compiled(f"def __eq__(self, other): return {equal} if {condition} else NotImplemented")


def _hash(_: Any, fields: _Fields, __: bool) -> Any:
    names = [one.name for one in fields if (one.compare if one.hash is None else one.hash)]
    return _compiled(f"def __hash__(self): return hash({_values('self', names)})")


def _values(of: str, names: Sequence[str]) -> str:
    return "(" + "".join(f"{of}.{name}, " for name in names) + ")"


def _compiled(text: str, known: dict[str, Any] | None = None) -> Any:
    """Compile the text of a function, which may use the `known` names."""
    made: dict[str, Any] = {}
    exec(text, known or {}, made)
    return made.popitem()[1]


_MADE = {"__init__": _init, "__repr__": _repr, "__eq__": _eq, "__hash__": _hash}


def _set_frozen(self: Any, name: str, value: Any) -> None:
    if _is_frozen(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delete_frozen(self: Any, name: str) -> None:
    if _is_frozen(self, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(value: Any, name: str) -> bool:
    """A class below a frozen one may have attributes of its own."""
    cls = type(value)
    return "__dataclass_fields__" in cls.__dict__ or name in cls.__dataclass_fields__


def _state(self: Any) -> list[Any]:
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)
