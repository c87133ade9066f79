"""Function of a stage as a worker gets it: what comes with it to the task's process."""

from __future__ import annotations

import gc
import pickle
from pathlib import Path

import pytest

from sharkpy.base.errors import InternalError
from sharkpy.base.secrets import Secret
from sharkpy.execution.workers.connection_pool import ConnectionSettings
from sharkpy.execution.workers.stage_task import StageTask, TaskSettings
from sharkpy.sources.storage.access import ACCESSES, StorageAccess
from tests.execution.programs import numbers


def test_a_task_knows_the_accesses_of_its_stage_and_none_after_it(tmp_path: Path) -> None:
    access = StorageAccess.of({"fs.s3a.secret.key": Secret("hunter2")}, "keys of the session")
    connection = ConnectionSettings(1, 64 << 20, str(tmp_path / "duckdb"))
    settings = TaskSettings(connection, 1000, 1 << 20, "", accesses=(access,))
    sent = pickle.dumps(StageTask(1, numbers(3).program, (), (), None, settings))
    access_id = access.id
    del access, settings
    task = pickle.loads(sent)
    assert "hunter2" not in repr(task)
    with pytest.raises(InternalError, match="no access"):
        ACCESSES.find(access_id)
    assert sum(batch.num_rows for batch in task.batches(0, ())) == 3
    secret = ACCESSES.find(access_id).secret("fs.s3a.secret.key")
    assert secret is not None
    assert secret.reveal() == "hunter2"
    del task
    gc.collect()
    with pytest.raises(InternalError, match=access_id):
        ACCESSES.find(access_id)
