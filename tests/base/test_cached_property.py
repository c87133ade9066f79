from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from sharkpy.base.cached_property import cached_property
from sharkpy.columnar import profile
from sharkpy.columnar.profile import ColumnProfile
from sharkpy.values import types as t
from tests.waiting import PATIENCE


class Doubled:
    def __init__(self, value: int) -> None:
        self.value = value
        self.computed = 0

    @cached_property
    def result(self) -> int:
        """Twice the value."""
        self.computed += 1
        return 2 * self.value


def test_a_value_is_computed_once_for_each_object() -> None:
    one, other = Doubled(1), Doubled(2)
    assert [one.result, one.result, other.result] == [2, 2, 4]
    assert (one.computed, other.computed) == (1, 1)
    assert Doubled.result.__doc__ == "Twice the value."


def test_an_error_is_not_stored() -> None:
    class Failing:
        has_failed = False

        @cached_property
        def result(self) -> int:
            if not self.has_failed:
                self.has_failed = True
                raise ValueError("once")
            return 1

    failing = Failing()
    with pytest.raises(ValueError, match="once"):
        _ = failing.result
    assert failing.result == 1


def test_threads_profile_columns_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    both = threading.Barrier(2)
    build = profile.build_dictionary

    def build_together(values: pa.Array) -> object:
        both.wait(PATIENCE)
        return build(values)

    monkeypatch.setattr(profile, "build_dictionary", build_together)
    columns = [ColumnProfile(pa.array(["a", "b", "a"]), t.STRING) for _ in range(2)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda column: column.dictionary, columns))
    assert [dictionary[1].to_pylist() for dictionary in found if dictionary] == [["a", "b"]] * 2
