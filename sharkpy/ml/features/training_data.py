"""Training data of estimators: arrays, tables, and features of tables, all as blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sharkpy.base.errors import DataError
from sharkpy.execution.engine_session import newest_session
from sharkpy.execution.queries.plan_query import bind_text
from sharkpy.ml.features.feature_blocks import FeatureBlocks
from sharkpy.ml.features.feature_plan import feature_plan
from sharkpy.ml.features.missing_values import check_policy
from sharkpy.plan.logical import LogicalPlan

if TYPE_CHECKING:
    from sharkpy.execution.engine_session import EngineSession


def training_blocks(
    data: object,
    y: object = None,
    *,
    features: Sequence[str] | None = None,
    dtype: str | None = None,
    na: str = "error",
    session: EngineSession | None = None,
) -> FeatureBlocks:
    """Return blocks of features, with labels if `y` is given.

    1. `data`: an array of shape (rows, features), a data frame, a TableRDD, a FeatureRDD, FeatureBlocks, or the name of
       a table of `session` (default: the newest one that runs in this process).
    2. `y`: labels of shape (rows,) for an array, the name of the label's column for a table or a data frame.
    3. `features`: names of columns (default: of a table all numeric ones but the label).
    4. `dtype`: "float32" or "float64" (default: float64; float32 for an array of that type).
    5. `na`: see `missing_values.POLICIES`.

    Raise DataError, TypeMismatchError or ColumnNotFoundError that names the invalid argument or column.
    """
    check_policy(na)
    if isinstance(data, str):
        data = NamedTable(data, session or newest_session())
    if isinstance(getattr(data, "plan", None), LogicalPlan):
        return _of_query(data, y, features, dtype, na)
    if _is_blocks(data):
        return _as_they_are(data, y, features)
    if callable(blocks_of := getattr(data, "blocks", None)):
        return _as_they_are(blocks_of(), y, features)
    from sharkpy.ml.features.array_data import array_blocks

    return array_blocks(data, y, features, dtype, na)


class NamedTable:
    """Table with a TableRDD's parts: a bound query and its session."""

    def __init__(self, name: str, session: EngineSession) -> None:
        quoted = ".".join(f"`{part.strip('`')}`" for part in name.strip().split("."))
        plan = bind_text(session, f"SELECT * FROM {quoted}")
        assert isinstance(plan, LogicalPlan)
        self.plan, self.session = plan, session


def _of_query(rows: Any, y: object, features: Sequence[str] | None, dtype: str | None, na: str) -> FeatureBlocks:
    if y is not None and not isinstance(y, str):
        raise DataError(
            "the labels of a table are one of its columns, not an array", hint="give the name of the column as y"
        )
    if not isinstance(rows, NamedTable):
        found: FeatureBlocks = rows.features(features, y, dtype or "float64", na).blocks()
        return found
    from sharkpy.ml.features.stored_blocks import StoredBlocks

    return StoredBlocks(rows.session, feature_plan(rows.plan, features, y, dtype, na))


def _is_blocks(data: object) -> bool:
    return all(hasattr(data, name) for name in ("names", "dtype", "num_rows", "has_label", "run"))


def _as_they_are(blocks: Any, y: object, features: Sequence[str] | None) -> FeatureBlocks:
    if y is not None or features is not None:
        raise DataError("blocks of features have their columns and labels: give neither y nor features")
    found: FeatureBlocks = blocks
    return found
