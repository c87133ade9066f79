"""Settings of INSERT and MERGE: Hive partitions by value, and rows that match twice."""

from __future__ import annotations

from sharkpy.base.errors import UnsupportedError
from sharkpy.base.settings.setting import Setting

_DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def _check_default_partition(text: str) -> str:
    if text != _DEFAULT_PARTITION:
        raise UnsupportedError(
            f'another hive.exec.default.partition.name than "{_DEFAULT_PARTITION}" is not supported',
            hint="other sessions also find the Hive partition of NULL by this name",
        )
    return text


DYNAMIC_PARTITION = Setting("hive.exec.dynamic.partition", True, "Let INSERT leave partition columns without a value.")
DYNAMIC_PARTITION_MODE = Setting(
    "hive.exec.dynamic.partition.mode",
    "nonstrict",
    "strict: INSERT has to give at least one partition column a value.",
    choices=("nonstrict", "strict"),
)
DEFAULT_PARTITION_NAME = Setting(
    "hive.exec.default.partition.name",
    _DEFAULT_PARTITION,
    "Text for NULL and empty strings in the names of Hive partitions. Only this text is supported.",
    check=_check_default_partition,
)
MAX_DYNAMIC_PARTITIONS = Setting(
    "hive.exec.max.dynamic.partitions", 1000, "Maximum Hive partitions that one INSERT writes."
)
MAX_TASK_PARTITIONS = Setting(
    "hive.exec.max.dynamic.partitions.pernode", 1000, "Maximum Hive partitions that one task of an INSERT writes."
)
MERGE_CHECK = Setting(
    "hive.merge.cardinality.check", True, "Fail a MERGE if several rows of its source match one row of the table."
)
