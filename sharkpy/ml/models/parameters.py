"""Rules for the values of a model's parameters, checked by `fit` and not by the constructor."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sharkpy.base.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule for a parameter's value; `says` completes the sentence: parameter "C" must be …"""

    says: str
    holds: Callable[[object], bool]

    def or_none(self) -> Rule:
        return Rule(f"{self.says}, or None", lambda value: value is None or self.holds(value))


def check_parameters(owner: str, values: Mapping[str, object], rules: Mapping[str, Rule]) -> None:
    """Raise ParameterError for the first value that breaks its rule."""
    for name, rule in rules.items():
        if not rule.holds(values[name]):
            raise ParameterError(f'parameter "{name}" of {owner} must be {rule.says}, not {values[name]!r}')


def one_of(*choices: str) -> Rule:
    quoted = [f'"{choice}"' for choice in choices]
    return Rule(" or ".join(quoted), lambda value: isinstance(value, str) and value in choices)


def _is_real(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_integer(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def number_at_least(low: float) -> Rule:
    """Rule for a finite or infinite number; NaN breaks it."""
    return Rule(f"a number of at least {low:g}", lambda value: _is_real(value) and value >= low)  # type: ignore[operator]


def number_above(low: float) -> Rule:
    return Rule(f"a number above {low:g}", lambda value: _is_real(value) and value > low)  # type: ignore[operator]


def integer_at_least(low: int) -> Rule:
    return Rule(f"an integer of at least {low}", lambda value: _is_integer(value) and value >= low)  # type: ignore[operator]


BOOLEAN = Rule("True or False", lambda value: isinstance(value, bool))
SEED = integer_at_least(0).or_none()
"""Rule for seeds of random numbers; None means a new seed on every call of `fit`."""
