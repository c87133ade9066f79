"""Stages: what lies between two exchanges, as a program and the part of the data that each of its tasks reads."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sharkpy.base.errors import UnsupportedError
from sharkpy.optimizer.replan.place_stage import Place, Placement
from sharkpy.physical.distribution import DealtBuckets
from sharkpy.physical.operators import GivenScan
from sharkpy.physical.plan import PhysicalPlan
from sharkpy.physical.stage_program import BroadcastColumns, StageProgram, TaskInput
from sharkpy.plan.given_rows import GivenRows

if TYPE_CHECKING:
    import pyarrow as pa

AS_TASKS = Placement(Place.RDD, "it was made to run as RDD tasks", is_fixed=True)


@dataclass(frozen=True, slots=True)
class Stage:
    """A program, its tasks, its name, and where they run. Task i reads bucket i of its exchanges, unless told below."""

    program: StageProgram
    tasks: tuple[TaskInput, ...]
    label: str = "stage"
    singles: frozenset[int] = frozenset()
    """Exchanges that the first task reads whole."""
    dealt: tuple[tuple[int, DealtBuckets], ...] = ()
    """Exchanges by id, whose buckets are dealt to tasks in another way."""
    placement: Placement = AS_TASKS
    fragment: PhysicalPlan | None = None
    """The operators that the program was made of."""
    leaves: tuple[tuple[str, PhysicalPlan], ...] = ()
    """The scans and exchange reads behind the program's relations, by name."""
    rows: pa.RecordBatch | None = field(default=None, compare=False, repr=False)
    """The rows of a stage in the driver that are known without running its program, which is empty then."""

    @property
    def given(self) -> dict[str, GivenRows]:
        """Rows that Python programs hand over to the stage's tasks, by relation."""
        return {relation: leaf.rows for relation, leaf in self.leaves if isinstance(leaf, GivenScan)}

    @property
    def given_rdd(self) -> GivenRows | None:
        """The one of `given` that the stage runs over, as tasks of its RDD."""
        found = list(self.given.values())
        if len(found) > 1:
            raise UnsupportedError("rows of two Python programs in one stage", hint="save one of them as a table")
        return found[0] if found else None

    @property
    def broadcasts(self) -> list[BroadcastColumns]:
        return [spec for spec in self.program.data_inputs if isinstance(spec, BroadcastColumns)]
