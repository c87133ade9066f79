"""Files of tests for the workers of pytest-xdist: long ones first, and a worker that dies costs only one test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING

from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    import pytest
    from xdist.remote import Producer
    from xdist.workermanage import WorkerController

# Files that take long in `make test-all` or `make test`, longest first: begun last they would keep one worker busy.
LONG_FILES = (
    "tests/faults/test_soak.py",
    "tests/thrift/test_evil_statements.py",
    "tests/faults/test_killed_epochs.py",
    "tests/faults/test_killed_remote_writes.py",
    "tests/streaming/test_epochs_in_memory.py",
    "tests/streaming/test_generated_definitions.py",
    "tests/faults/test_killed_windows.py",
    "tests/faults/test_altered_tables.py",
    "tests/udf/test_huge_arguments.py",
    "tests/differential/test_differential.py",
    "tests/thrift/test_sessions.py",
    "tests/faults/test_cluster.py",
    "tests/execution/test_standalone.py",
    "tests/execution/test_yarn.py",
    "tests/storage/test_hdfs.py",
    "tests/faults/test_multi_insert.py",
    "tests/catalog/test_metastore.py",
    "tests/faults/test_killed_workers.py",
    "tests/faults/test_lost_jvm.py",
    "tests/thrift/test_many_clients.py",
    "tests/execution/test_class_cache.py",
    "tests/thrift/test_memory.py",
    "tests/thrift/clients/test_dbt.py",
    "tests/ml/test_table_rdd.py",
    "tests/faults/test_cancelled.py",
    "tests/columnar/test_encodings.py",
    "tests/ml/test_save_as_table_rdd.py",
    "tests/faults/test_full_disk.py",
    "tests/sources/test_hive_interoperability.py",
    "tests/ml/test_table_rdd_recovery.py",
    "tests/faults/test_feature_passes.py",
    "tests/execution/test_local_cluster.py",
    "tests/execution/test_faults.py",
    "tests/faults/test_supersteps.py",
    "tests/thrift/transport/test_fuzz.py",
    "tests/thrift/metadata/test_beside_spark.py",
    "tests/thrift/row_sets/test_spark_oracle.py",
    "tests/faults/test_nth_write.py",
    "tests/physical/test_first_rows.py",
    "tests/ml/generate/test_generate_models.py",
    "tests/ml/test_features.py",
    "tests/recovery/test_lineage.py",
    "tests/faults/test_killed_writes.py",
    "tests/thrift/transport/test_http.py",
    "tests/thrift/test_stop.py",
    "tests/functions/test_java_functions.py",
    "tests/thrift/clients/test_beeline.py",
    "tests/optimizer/test_same_rows.py",
    "tests/execution/test_spread_keys.py",
    "tests/storage/test_store.py",
    "tests/storage/test_store_faults.py",
)
# Folders and files whose tests mostly wait for processes that they start and kill: their marker is `waits`.
WAITING = (
    "tests/catalog/test_metastore.py",
    "tests/execution/test_class_cache.py",
    "tests/execution/test_local_cluster.py",
    "tests/execution/test_standalone.py",
    "tests/execution/test_yarn.py",
    "tests/faults/",
    "tests/storage/test_cluster_writes.py",
    "tests/storage/test_hdfs",
    "tests/storage/test_killed_moves.py",
    "tests/storage/test_metastore_buckets.py",
    "tests/streaming/test_kafka",
    "tests/streaming/test_killed_kafka_sinks.py",
    "tests/thrift/clients/",
    "tests/thrift/test_guard.py",
    "tests/thrift/test_sessions.py",
    "tests/thrift/test_stop.py",
)


def mark_waiting(items: Iterable[pytest.Item]) -> None:
    """Mark the tests that wait: more of them than this machine has cores run at once."""
    for item in items:
        if item.nodeid.startswith(WAITING):
            item.add_marker("waits")


def sort_by_length(items: list[pytest.Item]) -> None:
    """Sort collected tests in place: tests of long files first, then tests of files with many tests."""
    order = {file: at for at, file in enumerate(LONG_FILES)}
    files = [item.nodeid.partition("::")[0] for item in items]
    counts = Counter(files)
    ranks = {file: (order.get(file, len(order)), -counts[file], file) for file in counts}
    items.sort(key=lambda item: ranks[item.nodeid.partition("::")[0]])


class FileScheduling(LoadFileScheduling):
    """Scheduler of files that goes on without a test whose worker died.

    That of pytest-xdist 3.8 hands out finished files of a dead worker again, which ends in workers that wait for
    ever, and runs the test that killed the worker once more (pytest-xdist issues 1323, 1327 and 1378).
    """

    def __init__(self, config: pytest.Config, log: Producer | None = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False  # they are sorted when they are collected

    def remove_node(self, node: WorkerController) -> str | None:
        """Queue again what a dead worker has not run, and return the test that it was running, which counts as run."""
        workload = self.assigned_work.pop(node)
        started = next((unit for unit in workload.values() if not all(unit.values())), None)
        if started is None:
            return None
        crashed = next(test for test, finished in started.items() if not finished)
        started[crashed] = True
        self.workqueue.update({file: unit for file, unit in workload.items() if not all(unit.values())})
        for other in self.nodes:
            self._reschedule(other)
        return crashed

    def schedule(self) -> None:
        """Hand out files; a worker that comes later gets two, or its end: it runs a test when it knows the next one."""
        super().schedule()
        for node in self.nodes:
            self._reschedule(node)

    def _assign_work_unit(self, node: WorkerController) -> None:
        """Send the next file to a worker; one whose death has not been reported yet keeps it until `remove_node`."""
        with suppress(OSError):
            super()._assign_work_unit(node)

    def _reschedule(self, node: WorkerController) -> None:
        if node in self.registered_collections:
            super()._reschedule(node)
