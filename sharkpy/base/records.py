"""`dataclass` whose methods are compiled when they are first called.

The dataclasses module compiles six methods of each class at import. Hundreds of classes would take a third of the time
of a short statement in a new process, and such a statement uses few of them.
"""

from __future__ import annotations

import dataclasses
import threading
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
        setattr(made, name, _first_call(made, name, frozen, eq))
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


def _first_call(cls: Any, name: str, frozen: bool, eq: bool) -> Any:
    """Return the method `name` until it is called: then it is replaced by the compiled one."""

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if cls.__dict__[name] is method:
            _compile(cls, frozen, eq)
        return cls.__dict__[name](self, *args, **kwargs)

    method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
    method.__module__ = cls.__module__
    return method


def _compile(cls: Any, frozen: bool, eq: bool) -> None:
    """Replace the methods that wait for their first call by the methods of a dataclass with the same fields."""
    fields = [(one.name, one.type, _copied(one)) for one in dataclasses.fields(cls)]
    after = {"__post_init__": cls.__post_init__} if hasattr(cls, "__post_init__") else {}
    has_slots = "__slots__" in cls.__dict__
    twin = dataclasses.make_dataclass(
        cls.__name__, fields, namespace=after, frozen=frozen, eq=eq, slots=has_slots, match_args=False
    )
    for name in ("__init__", "__repr__", "__eq__", "__hash__"):
        if getattr(cls.__dict__.get(name), "__code__", None) is _WAITING:
            method = twin.__dict__[name]
            method.__qualname__ = f"{cls.__qualname__}.{name}"
            setattr(cls, name, method)


def _copied(field: dataclasses.Field[Any]) -> Any:
    given = {
        name: value
        for name in ("default", "default_factory")
        if (value := getattr(field, name)) is not dataclasses.MISSING
    }
    return dataclasses.field(
        **given, init=field.init, repr=field.repr, hash=field.hash, compare=field.compare, kw_only=field.kw_only
    )


_WAITING = _first_call(object, "", False, False).__code__


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
