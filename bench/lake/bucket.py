"""Bucket of a server of S3 on loopback, and tables over Parquet files in it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from bench.suites import CACHE
from tests.storage.s3_servers import ACCESS_KEY, SECRET, MotoServer, SeaweedServer, s3_client

BUCKET = "bench"
_WRITERS = 32
_START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Bucket:
    """Bucket at an address, a host and port."""

    address: str

    @property
    def settings(self) -> dict[str, str]:
        """Settings of a session that reads it."""
        return settings_for(self.address)

    def put_folders(self, data: Path) -> None:
        """Put the files of each folder of `data` under the folder's name."""
        client = s3_client(self.address)
        for path in sorted(data.glob("*/*.parquet")):
            client.upload_file(str(path), BUCKET, f"{path.parent.name}/{path.name}")
        client.close()

    def put_many(self, contents: Mapping[str, bytes]) -> None:
        from obstore.store import S3Store

        store = S3Store(
            BUCKET,
            config={
                "access_key_id": ACCESS_KEY,
                "secret_access_key": SECRET,
                "region": "us-east-1",
                "aws_endpoint_url_s3": f"http://{self.address}",
            },
            client_options={"allow_http": True},
        )
        with ThreadPoolExecutor(_WRITERS) as writers:
            list(writers.map(lambda one: store.put(one[0], one[1], use_multipart=False), contents.items()))

    def num_objects(self, prefix: str) -> int:
        client = s3_client(self.address)
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        count = sum(len(page.get("Contents", ())) for page in pages)
        client.close()
        return count


class _Server(SeaweedServer):
    """Server whose objects are in pieces of 1 MB, of which a range reads no more than it must, each at once: clients
    share its cores.
    """

    def command(self) -> list[str]:
        return [*super().command(), "-filer.maxMB=1", "-volume.hasSlowRead=false"]


@contextmanager
def s3_bucket() -> Iterator[Bucket]:
    """An empty bucket: of SeaweedFS if it is installed, else of moto, which is slow."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        server = (MotoServer if SeaweedServer.program() is None else _Server)(Path(folder))
        try:
            server.start()
            _make_bucket(server.address)
            yield Bucket(server.address)
        finally:
            server.stop()


def _make_bucket(address: str) -> None:
    """Make the bucket: a server that answers may not be ready for it yet."""
    from botocore.exceptions import ClientError

    client = s3_client(address)
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            client.create_bucket(Bucket=BUCKET)
            break
        except ClientError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
    client.close()


def settings_for(address: str) -> dict[str, str]:
    keys = {"access.key": ACCESS_KEY, "secret.key": SECRET, "endpoint": f"http://{address}"}
    return {f"fs.s3a.{name}": value for name, value in keys.items()}


def make_tables(context: Any, data: Path, place: str) -> None:
    """External tables over the folders of `data`, whose files are at `place`, a path or a URI."""
    from sharkpy.values.types import from_arrow

    for folder in sorted(path for path in data.iterdir() if path.is_dir()):
        schema = pq.read_schema(next(folder.glob("*.parquet")))
        columns = ", ".join(f"`{field.name}` {from_arrow(field.type)}" for field in schema)
        location = f"LOCATION '{place}/{folder.name}'"
        context.sql(f"CREATE EXTERNAL TABLE {folder.name} ({columns}) STORED AS PARQUET {location}").close()
