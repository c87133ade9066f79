"""sharkpy over a warehouse in a bucket, for .slt files."""

from __future__ import annotations

import functools
import shutil
import tempfile
from pathlib import Path
from typing import Any

from tests.slt.engines import SharkEngine, _drop_all


@functools.cache
def _owner() -> Any:
    """Session that owns an engine over a warehouse in a bucket, and the server that has the bucket."""
    import atexit

    from tests.storage.s3_servers import SeaweedServer, s3_client
    from tests.storage.warehouses import open_warehouse

    folder = Path(tempfile.mkdtemp(prefix="sharkpy-slt-"))
    server = SeaweedServer(folder)
    atexit.register(lambda: (server.stop(), shutil.rmtree(folder, ignore_errors=True)))
    server.start()
    client = s3_client(server.address)
    client.create_bucket(Bucket="slt")
    client.close()
    session = open_warehouse("s3://slt/warehouse", server.address, folder / "home")
    atexit.register(session.stop)
    return session


class BucketEngine(SharkEngine):
    def open(self) -> None:
        self._session = _owner().new_session(**self._conf)

    def close(self) -> None:
        self._session.stop()
        _drop_all(_owner())
