"""Repair of lost and damaged blocks from their file splits, under the same ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from sharkpy.base import settings
from sharkpy.base.cancellation import submit
from sharkpy.base.settings import Conf
from sharkpy.catalog.model import Table
from sharkpy.catalog.path_gate import local_path
from sharkpy.columnar.handle import BlockHandle
from sharkpy.columnar.store import BlockStore
from sharkpy.columnar.version import TableVersion
from sharkpy.execution.tasks.block_rebuild import BlockRebuilder, Siblings, siblings

_WRITE_THREADS = 4


def rebuild_blocks(
    lost: set[str],
    version: TableVersion,
    table: Table,
    store: BlockStore,
    conf: Conf,
    num_threads: int = 1,
    access: Callable[[str], str] | None = None,
    schema_text: Callable[[str], str] = local_path,
) -> None:
    """Rebuild the blocks `lost` of `version` with the same rows in the same places, so that handles stay valid.

    `access` returns access ids for remote files; `schema_text` reads remote schemas. Raise CorruptionError, naming
    table and block, if the source is gone, has changed, or never was a file.
    """
    rebuilder = BlockRebuilder(table, version.schema, conf.value(settings.FORCE_ENCODING), access, schema_text)
    with ThreadPoolExecutor(num_threads) as pool, ThreadPoolExecutor(_WRITE_THREADS) as writes:

        def rebuild(missing: Sequence[BlockHandle], group: Siblings) -> list[Future[None]]:
            made = rebuilder.rebuild(missing, group)
            return [writes.submit(store.rewrite, handle, content) for handle, content in made]

        runs = []
        for group in siblings(version):
            missing = [handle for handle in group[1] if handle.block_id in lost]
            if missing:
                runs.append(submit(pool, rebuild, missing, group))
        try:
            for run in runs:
                for write in run.result():
                    write.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
