"""What commands need from the session that runs them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from sharkpy.base.settings import Conf
from sharkpy.catalog.store import Catalog
from sharkpy.execution.commands.result import CommandResult
from sharkpy.execution.restrictions import Restrictions
from sharkpy.physical.stage import BlockSink, FileSink
from sharkpy.plan.commands import Explain, GenerateTable
from sharkpy.plan.logical import LogicalPlan

if TYPE_CHECKING:
    import pyarrow as pa

    from sharkpy.catalog.model import Table
    from sharkpy.columnar.handle import BlockHandle
    from sharkpy.columnar.statistics import BlockStatistics
    from sharkpy.execution.tables.cache import TableCache
    from sharkpy.execution.tables.snapshot import QuerySnapshot


class CommandSession(Protocol):
    """1. `write_files` and `write_blocks` run a plan into a sink and wait for all its tasks; they raise
       where any task failed, whose files or blocks then do not matter. Plans with one `snapshot` see the same rows.
    2. `current_database` is set by USE.
    """

    @property
    def catalog(self) -> Catalog: ...

    @property
    def conf(self) -> Conf: ...

    @property
    def table_cache(self) -> TableCache: ...

    @property
    def restrictions(self) -> Restrictions: ...

    current_database: str

    def snapshot(self) -> QuerySnapshot:
        """The tables as they are when a query of it first looks at each."""

    def write_files(
        self, plan: LogicalPlan, sink: FileSink, snapshot: QuerySnapshot | None = None
    ) -> Sequence[tuple[str, int, int]]:
        """(path, rows, bytes) of each file."""

    def write_blocks(
        self, plan: LogicalPlan, sink: BlockSink, snapshot: QuerySnapshot | None = None
    ) -> Sequence[tuple[BlockHandle, BlockStatistics]]: ...

    def table_buckets(self, plan: LogicalPlan) -> int:
        """A number of buckets for a table of the rows of `plan`."""

    def batches(self, plan: LogicalPlan) -> Iterator[pa.RecordBatch]: ...

    def forget_plans(self, table: Table) -> None:
        """Queries of `table` are planned anew: what is known of it has changed."""

    def explain(self, command: Explain) -> CommandResult: ...

    def generate(self, command: GenerateTable) -> CommandResult: ...
