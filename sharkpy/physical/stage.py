"""Stages between exchanges: a program, and the inputs of each of its tasks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sharkpy.base.errors import UnsupportedError
from sharkpy.optimizer.replan.place_stage import Place, Placement
from sharkpy.physical.distribution import DealtBuckets
from sharkpy.physical.operators import GivenScan
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.stage_program import BroadcastColumns, StageProgram, TaskInput
from sharkpy.plan.arrow_data import GivenRows

if TYPE_CHECKING:
    import pyarrow as pa

AS_TASKS = Placement(Place.RDD, "it was made to run as RDD tasks", is_fixed=True)


@dataclass(frozen=True, slots=True)
class Stage:
    """Stage: a program, its tasks, label and placement. Task i reads bucket i of its exchanges unless set below."""

    program: StageProgram
    tasks: tuple[TaskInput, ...]
    label: str = "stage"
    singles: frozenset[int] = frozenset()
    """Exchanges that the first task reads whole."""
    dealt: tuple[tuple[int, DealtBuckets], ...] = ()
    """Exchanges by id whose buckets are dealt to tasks in another way."""
    placement: Placement = AS_TASKS
    fragment: PhysicalPlan | None = None
    """Operators from which the program was made."""
    leaves: tuple[tuple[str, PhysicalPlan], ...] = ()
    """Scans and exchange reads of the program's relations, by name."""
    rows: pa.RecordBatch | None = field(default=None, compare=False, repr=False)
    """Rows of a stage in the driver that are known without running its program, which is then empty."""

    @property
    def given(self) -> dict[str, GivenRows]:
        """Rows passed by Python programs to the stage's tasks, by relation."""
        return {relation: leaf.rows for relation, leaf in self.leaves if isinstance(leaf, GivenScan)}

    @property
    def given_rdd(self) -> GivenRows | None:
        """Rows of the RDD in whose tasks the stage runs, if any. Raise UnsupportedError for rows of two programs."""
        found = list(self.given.values())
        if len(found) > 1:
            raise UnsupportedError("rows of two Python programs in one stage", hint="save one of them as a table")
        return found[0] if found else None

    @property
    def broadcasts(self) -> list[BroadcastColumns]:
        return [spec for spec in self.program.data_inputs if isinstance(spec, BroadcastColumns)]
