"""Diagnosis of NaN or infinity in a pass's result. It runs only after a failure, so good data is not read for it."""

from __future__ import annotations

import functools
import operator
from typing import NoReturn

from sharkpy.base.errors import DataError
from sharkpy.ml.features.feature_blocks import FeatureBlock, FeatureBlocks
from sharkpy.ml.features.missing_values import NotFinite


def refuse_not_finite(blocks: FeatureBlocks) -> NoReturn:
    """Raise DataError that names the column with NaN or infinity, or says that numbers grew too large."""
    found = blocks.run(_count_not_finite)
    functools.reduce(operator.add, (features for features, _ in found)).check(blocks.names)
    if blocks.has_label:
        functools.reduce(operator.add, (label for _, label in found)).check(["label"], kind="label")
    raise DataError("the numbers are too large to be summed", hint="scale the features, as StandardScaler does")


def _count_not_finite(block: FeatureBlock, argument: None) -> tuple[NotFinite, NotFinite | None]:
    del argument
    return NotFinite.of(block.X), None if block.y is None else NotFinite.of(block.y.reshape(-1, 1))
