"""RDD jobs of one SparkContext: stages over byte frames, built and run through Py4J."""

from __future__ import annotations

import re
import struct
import sys
import threading
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from sharkpy.base.errors import (
    CancelledError,
    ExecutionError,
    InternalError,
    SharkError,
    WorkersDiedError,
    WorkersLostError,
)
from sharkpy.base.records import dataclass
from sharkpy.execution.spark.lost_jvm import jvm_lost_error, means_jvm_lost
from sharkpy.execution.spark.pools import DEFAULT_POOL, Pool, SparkPools
from sharkpy.execution.spark.start import TASK_ATTEMPTS, SparkHandle
from sharkpy.execution.tasks.error_conversion import full_disk, is_disk_full
from sharkpy.execution.tasks.payloads import PAYLOAD_HEADER
from sharkpy.execution.tasks.report import ReportCollector, TaskReport
from sharkpy.execution.workers.frames import receive_frame
from sharkpy.execution.workers.function_tasks import FunctionTask, PassTask
from sharkpy.execution.workers.stage_task import StageTask
from sharkpy.execution.workers.task_failure import REPORTED_RUN, pickled_error, stop_file
from sharkpy.execution.workers.worker_environment import worker_problem

_SMALL_COMMAND = 256 << 10
"""Largest pickled stage, in bytes, that is sent with each task."""
_MOST_SETS = 1_000
"""Number of cached sets of partitions."""
_GENERATION = "SHARKPY_WORKERS"
"""Variable in the workers' environment; Spark has one daemon per environment."""
_NOT_STARTED = re.compile(r"PythonWorkerFactory\.|reading the port number")
_TRACE = re.compile(r"at (?!org\.apache\.spark\.api\.python\.PythonWorkerFactory)")
"""Lines of a Java stack trace, except lines about a worker that did not start."""


@dataclass(frozen=True, slots=True)
class ExecutorLoad:
    """Executor of Spark, or the driver of a local master, and the tasks that it runs."""

    host: str
    running_tasks: int


class SparkJobs:
    """Stages and jobs over a SparkContext; safe for several threads, with one query each."""

    def __init__(self, spark: SparkHandle, scratch: Path) -> None:
        from pyspark.serializers import NoOpSerializer

        self.spark = spark
        self.context: Any = spark.context
        self.jvm: Any = spark.context._jvm
        self.book = ReportCollector()
        self._scratch = scratch
        self._frames = NoOpSerializer()
        self._slots: dict[int, Any] = {}
        self._placed: dict[tuple[str, ...], Any] = {}
        self._ranges: dict[range, Any] = {}
        self._lock = threading.Lock()
        self._cleaning = ThreadPoolExecutor(1, thread_name_prefix="sharkpy-cleaning")
        self._pools = SparkPools(spark.context)
        self._next_run = 0
        self._num_renewed = 0
        self.reports = self.context.accumulator([], _report_param(self.book))
        # Each class lookup, list or map is a round trip to the JVM, so whatever never changes is cached.
        self.scala_context: Any = self.context._jsc.sc()
        self.java_rdd: Any = self.jvm.org.apache.spark.api.java.JavaRDD
        self.array_text: Any = self.jvm.java.util.Arrays.toString
        self._to_seq: Any = self.jvm.PythonUtils.toSeq
        self._pruned: Any = self.jvm.org.apache.spark.rdd.PartitionPruningRDD.create
        self._sets: dict[tuple[int, ...], Any] = {}
        self._partitioners: dict[int, Any] = {}
        self._pairwise_rdd: Any = self.jvm.PairwiseRDD
        self._shuffled_rdd: Any = self.jvm.org.apache.spark.rdd.ShuffledRDD
        self._pair_tags: Any = (self._class_tag("java.lang.Long"), self._class_tag("[B"))
        self._pair_serializer: Any = self._made_pair_serializer()
        self._python_rdd: Any = self.jvm.PythonRDD
        self._value_of_pair: Any = self._python_rdd.valueOfPair
        self._pairs_of: Any = self.jvm.JavaPairRDD.fromRDD
        self._python_function: Any = self.jvm.SimplePythonFunction
        self._serve: Any = self._python_rdd.serveIterator
        self._as_scala: Any = self.jvm.scala.jdk.javaapi.CollectionConverters.asScala
        self._environ: Any = self.jvm.java.util.HashMap({**self.context.environment, **spark.environ})
        self._includes: Any = self.jvm.java.util.ArrayList(self.context._python_includes)
        self._no_broadcasts: Any = self.jvm.java.util.ArrayList()

    def _made_pair_serializer(self) -> Any:
        """Return the serializer of a shuffle's pairs: Java's, which refers to no pair that it has written.

        By itself, Spark would take Kryo for them. Each task then makes a new Kryo for each bucket, in milliseconds.
        """
        conf = self.scala_context.getConf().set("spark.serializer.objectStreamReset", "1")
        return self.jvm.org.apache.spark.serializer.JavaSerializer(conf)

    def _class_tag(self, name: str) -> Any:
        return self.jvm.scala.reflect.ClassTag.apply(self.jvm.java.lang.Class.forName(name))

    def new_run(self) -> int:
        """Return a new number for one run of a stage. Its tasks report under it."""
        with self._lock:
            self._next_run += 1
            return self._next_run

    @contextmanager
    def job_group(
        self, group: str, description: str, pool: Pool = DEFAULT_POOL, run_id: int | None = None
    ) -> Iterator[None]:
        """Run this thread's jobs in `pool`; `cancel(group)` cancels them.

        Reports of tasks of `run_id` are received. Other tasks, of map stages whose output was lost, raise their errors.
        """
        self.context.setJobGroup(group, description, interruptOnCancel=True)
        self.context.setLocalProperty("spark.scheduler.pool", self._pools.use(pool))
        self.context.setLocalProperty(REPORTED_RUN, None if run_id is None else str(run_id))
        try:
            yield
        finally:
            self.context.setLocalProperty(REPORTED_RUN, None)
            self.context.setLocalProperty("spark.jobGroup.id", None)

    def cancel(self, group: str) -> None:
        """Cancel the group's jobs, including those about to be submitted. No later job can use the group."""
        if self.spark.is_local:
            stop_file(self._scratch, group).touch()
        self.scala_context.cancelJobGroupAndFutureJobs(group)

    def slots(self, count: int) -> Any:
        """Return a JavaRDD of `count` nearly empty partitions; made once for each count."""
        with self._lock:
            if count not in self._slots:
                self._slots[count] = self.frames_rdd([b"\0"] * count, count)
            return self._slots[count]

    def placed_slots(self, hosts: tuple[str, ...]) -> Any:
        """Return a JavaRDD with one partition per host, which Spark prefers for the task; "" means any host."""
        with self._lock:
            if hosts not in self._placed:
                pairs = self.jvm.java.util.ArrayList()
                for host in hosts:
                    pairs.add(self.jvm.scala.Tuple2(b"\0", self._to_seq([host] if host else [])))
                tag = self._class_tag("[B")
                made = self.scala_context.makeRDD(self._to_seq(pairs), tag)
                self._placed[hosts] = self.java_rdd.fromRDD(made, tag)
            return self._placed[hosts]

    def frames_rdd(self, frames: Sequence[bytes], num_partitions: int = 1) -> Any:
        """Return a JavaRDD of `frames`, which the JVM stores."""
        path = self._scratch / f"frames-{uuid.uuid4().hex}"
        try:
            path.write_bytes(b"".join(struct.pack("!i", len(frame)) + frame for frame in frames))
            return self._python_rdd.readRDDFromFile(self.context._jsc, str(path), num_partitions)
        finally:
            path.unlink(missing_ok=True)

    def stage_rdd(self, frames: Any, task: StageTask | FunctionTask | PassTask) -> Any:
        """Return a JavaRDD of the stage's output frames over the JavaRDD of its input frames."""
        return self.python_rdd(frames.rdd(), replace(task, reports=self.reports), self._frames, self._frames)

    def given_rdd(self, rdd: Any, function: Callable[[int, Iterable[Any]], Iterator[Any]]) -> Any:
        """Return a JavaRDD of the stage's output over a pyspark RDD, whose functions run in the same process."""
        function = replace(function, reports=self.reports) if isinstance(function, StageTask) else function
        whole = rdd.mapPartitionsWithIndex(function)
        below, deserializer = whole._prev_jrdd.rdd(), whole._prev_jrdd_deserializer
        return self.python_rdd(below, whole.func, deserializer, self._frames, is_barrier=whole.is_barrier)

    def python_rdd(
        self,
        rdd: Any,
        function: Any,
        deserializer: Any,
        serializer: Any,
        *,
        keeps: bool = False,
        is_barrier: bool = False,
    ) -> Any:
        """Return a JavaRDD of `function(partition, elements)` over a Scala RDD.

        `keeps` says that each result stays in its partition.
        """
        pickled, broadcasts = self._pickled_command((function, None, deserializer, serializer))
        wrapped = self._python_function(
            bytearray(pickled),
            self._environ,
            self._includes,
            self.context.pythonExec,
            ".".join(map(str, sys.version_info[:2])),
            broadcasts,
            self.context._javaAccumulator,
        )
        return self._python_rdd(rdd, wrapped, keeps, is_barrier).asJavaRDD()

    def _pickled_command(self, command: object) -> tuple[bytes, Any]:
        """Return the pickled command and the Java list of its broadcasts. A large command is itself broadcast."""
        from pyspark.core.rdd import _prepare_for_python_RDD
        from pyspark.serializers import CloudPickleSerializer

        pickled = CloudPickleSerializer().dumps(command)  # type: ignore[no-untyped-call]
        if len(pickled) <= _SMALL_COMMAND and not list(self.context._pickled_broadcast_vars):
            return pickled, self._no_broadcasts
        self.context._pickled_broadcast_vars.clear()
        pickled, broadcasts, _, _ = _prepare_for_python_RDD(self.context, command)
        return pickled, broadcasts

    def shuffled(self, frames: Any, num_buckets: int) -> Any:
        """Return a Scala RDD of the pairs in the JavaRDD `frames`, shuffled by their bucket."""
        if (partitioner := self._partitioners.get(num_buckets)) is None:
            partitioner = self._partitioners[num_buckets] = self.jvm.PythonPartitioner(num_buckets, 0)
        key, value = self._pair_tags
        shuffled = self._shuffled_rdd(self._pairwise_rdd(frames.rdd()), partitioner, key, value, value)
        return shuffled.setSerializer(self._pair_serializer)

    def with_partitions(self, rdd: Any, numbers: tuple[int, ...]) -> Any:
        """Return a Scala RDD of some partitions of a Scala RDD.

        The set of numbers is cached: each number takes a round trip, and a query packs the same buckets each time.
        """
        if (wanted := self._sets.get(numbers)) is None:
            if len(self._sets) >= _MOST_SETS:
                self._sets.clear()
            # PartitionPruningRDD takes a function; a Scala set of numbers is one.
            wanted = self._sets[numbers] = self._to_seq(list(numbers)).toSet()
        return self._pruned(rdd, wanted)

    def values(self, pairs: Any) -> Any:
        """Return a JavaRDD of the values of a Scala RDD of pairs."""
        return self._value_of_pair(self._pairs_of(pairs, *self._pair_tags))

    def release_shuffles(self, shuffle_ids: Sequence[int]) -> None:
        """Delete the files of shuffles in the background."""
        if shuffle_ids:
            self._cleaning.submit(self._release_shuffles, tuple(shuffle_ids))

    def _release_shuffles(self, shuffle_ids: tuple[int, ...]) -> None:
        # Errors of a JVM that is ending do not matter.
        with suppress(Exception):
            cleaner = self.scala_context.cleaner()
            if cleaner.isDefined():
                for shuffle_id in shuffle_ids:
                    cleaner.get().doCleanupShuffle(shuffle_id, False)

    def failure(self, error: Exception) -> SharkError:
        """Return the error to raise for an exception of Spark. If workers did not start, the next job gets new ones."""
        failure = spark_error(error)
        if isinstance(failure, WorkersLostError):
            self.renew_workers()
        return failure

    def executors(self) -> list[ExecutorLoad]:
        """Return Spark's executors; an empty list if its JVM does not answer."""
        try:
            found = self.scala_context.statusTracker().getExecutorInfos()
            return [ExecutorLoad(str(one.host()), int(one.numRunningTasks())) for one in found]
        except Exception:  # noqa: BLE001 - Py4J has several errors for a JVM that ends
            return []

    def renew_workers(self) -> None:
        """Make Spark start new worker daemons: an executor whose daemon died at its start never starts another.

        They serve stages, and the user's own RDDs made from now on.
        """
        with self._lock:
            self._num_renewed += 1
            number = str(self._num_renewed)
            self._environ.put(_GENERATION, number)
            self.context.environment[_GENERATION] = number

    def close(self) -> None:
        """Wait for background cleanup of queries."""
        self._cleaning.shutdown(wait=True)

    def collect(
        self, frames: Any, partitions: Sequence[int], *, is_all: bool = False, run_id: int | None = None
    ) -> list[pa.Buffer]:
        """Return the frames of `partitions` in order; `is_all` if these are all partitions. Raise Spark's errors.

        Frames in the reports of `run_id` come first.
        """
        if not is_all:
            served = self._received(self._python_rdd.runJob(self.scala_context, frames, self._numbers(partitions)))
            return [*self._reported_frames(run_id, partitions), *served]
        collected = frames.collectAsync().get()
        reported = self._reported_frames(run_id, partitions)
        if run_id is not None and all(report.frames is not None for report in self.book.seen(run_id)):
            return reported
        # `runJob` would parse the class SparkContext, which takes milliseconds.
        return [*reported, *self._received(self._serve(self._as_scala(collected).iterator(), "sharkpy-frames"))]

    def _reported_frames(self, run_id: int | None, partitions: Sequence[int]) -> list[pa.Buffer]:
        reports = () if run_id is None else self.book.seen(run_id)
        return [pa.py_buffer(frame) for one in reports if one.partition in partitions for frame in one.frames or ()]

    def _received(self, connection: Any) -> list[pa.Buffer]:
        from pyspark.util import _load_from_socket

        with _load_from_socket(connection, self._frames) as stream:
            return [pa.py_buffer(frame) for frame in stream]

    def _numbers(self, numbers: Sequence[int]) -> Any:
        """Return a Java list of numbers. A range's list is cached, as each number takes a round trip."""
        if not isinstance(numbers, range):
            return self.jvm.java.util.ArrayList(list(numbers))
        with self._lock:
            if numbers not in self._ranges:
                self._ranges[numbers] = self.jvm.java.util.ArrayList(list(numbers))
            return self._ranges[numbers]

    def check_tasks(self, run_id: int, partitions: Iterable[int] = ()) -> None:
        """Raise the first error that a task of the run reported.

        Raise ExecutionError if one of `partitions`, which have ended, sent no report: its outcome is unknown.
        """
        reports = self.book.seen(run_id)
        _raise_task_error(reports)
        if missing := set(partitions) - {report.partition for report in reports}:
            raise ExecutionError(f"{len(missing)} tasks have ended without a report: pyspark has lost their updates")

    @contextmanager
    def reported(self, run_id: int, listener: Any) -> Iterator[list[TaskReport]]:
        """Collect the run's reports into the yielded list.

        A task's error is raised at the end, or instead of Spark's error.
        """
        reports: list[TaskReport] = []
        self.book.open(run_id, listener)
        try:
            yield reports
        except Exception as error:  # noqa: BLE001 - Py4J raises any error of Spark or the connection
            reports += self.book.close(run_id)
            _raise_task_error(reports)
            raise self.failure(error) from None
        except BaseException:
            reports += self.book.close(run_id)
            raise
        reports += self.book.close(run_id)
        _raise_task_error(reports)


def _raise_task_error(reports: Sequence[TaskReport]) -> None:
    """Raise the first task's error, if any."""
    for report in reports:
        if report.error is not None:
            raise report.error


def spark_error(error: Exception) -> SharkError:
    """Convert an error of Spark or Py4J to one of the engine, with one line for its long message."""
    if isinstance(error, SharkError):
        return error
    java = java_exception(error)
    if java is None:
        return jvm_lost_error() if means_jvm_lost(error) else InternalError(f"{type(error).__name__}: {error}")
    said = java_messages(java)
    if carried := pickled_error(said):
        return carried
    # The message of a daemon that died before its program began also says that it cannot be run.
    is_dead = any("spawn helper" in text for text in said)
    if not is_dead and (problem := worker_problem("\n".join(said))):
        return problem
    if any(map(is_disk_full, said)):
        return full_disk()
    texts = [_without_trace(text) for text in said]
    if is_dead or any(_NOT_STARTED.search(text) for text in texts):
        return WorkersLostError(f"Python workers could not be started at each of {TASK_ATTEMPTS} tries of a task")
    if any("cancel" in text.lower() for text in texts):
        return CancelledError("the query was cancelled")
    for text in texts:
        if "crashed" in text:
            return WorkersDiedError(f"a worker process died at each of {TASK_ATTEMPTS} tries of a task")
    return ExecutionError(f"Spark failed: {texts[-1]}")


def java_exception(error: Exception) -> Any:
    """Return the Java exception of an error of Py4J or pyspark, or None.

    pyspark converts errors once a SparkSession exists.
    """
    return getattr(error, "java_exception", None) or getattr(error, "_origin", None)


def java_messages(java: Any) -> list[str]:
    """Return the messages of a Java exception and of its causes."""
    texts: list[str] = []
    while java is not None and len(texts) < 10:
        texts.append(str(java.getMessage()))
        java = java.getCause()
    return texts


def _without_trace(text: str) -> str:
    """Return the message in one line, without the stack traces that Spark puts in it."""
    lines = [line.strip() for line in text.splitlines()]
    return " ".join(line for line in lines if line and not _TRACE.match(line))[:500]


def split_by_partition(frames: Sequence[pa.Buffer]) -> dict[int, list[pa.Buffer]]:
    """Group result frames by the partition in their headers."""
    parts: dict[int, list[pa.Buffer]] = {}
    for frame in frames:
        (partition,) = struct.unpack_from("<q", frame)
        parts.setdefault(partition, []).append(receive_frame(frame))
    return parts


def payload_batches(frame: pa.Buffer) -> Iterator[pa.RecordBatch]:
    yield from pa.ipc.open_stream(frame.slice(PAYLOAD_HEADER))


def _report_param(book: ReportCollector) -> Any:
    """Return an accumulator parameter that collects lists in workers and passes each report to `book` in the driver."""
    from sharkpy.execution.spark.report_accumulator import DriverReports

    return DriverReports(book)
