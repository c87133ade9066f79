"""Lake tables in buckets: fixtures of their tests, with servers of S3 on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import sharkpy
from tests.lake.tables import run
from tests.storage.places import BUCKET
from tests.storage.s3_servers import ACCESS_KEY, SECRET


def keys_of(address: str) -> tuple[str, ...]:
    """Statements that tell a session how to reach a server."""
    return (
        f"SET fs.s3a.access.key={ACCESS_KEY}",
        f"SET fs.s3a.secret.key={SECRET}",
        f"SET fs.s3a.endpoint=http://{address}",
    )


def others_options(address: str) -> dict[str, str]:
    """pyiceberg's own names for the same."""
    return {
        "s3.endpoint": f"http://{address}",
        "s3.access-key-id": ACCESS_KEY,
        "s3.secret-access-key": SECRET,
        "s3.region": "us-east-1",
    }


def new_place() -> str:
    """A folder of the bucket that no other test uses."""
    return f"s3://{BUCKET}/{uuid4().hex}"


def others_catalog(folder: Path, place: str, address: str) -> Iterator[Any]:
    """A catalog of another program, with tables in a bucket."""
    from pyiceberg.catalog import load_catalog

    uri = f"sqlite:///{folder}/other.sqlite"
    made = load_catalog("other", type="sql", uri=uri, warehouse=place, **others_options(address))
    made.create_namespace("ns")
    yield made
    made.close()


def know_catalog(context: sharkpy.SharkContext, folder: Path) -> None:
    """Tell a session of that catalog."""
    uri = f"sqlite:///{folder}/other.sqlite"
    run(context, "SET iceberg.catalog.other.type=sql", f"SET iceberg.catalog.other.uri={uri}")


def known_as(name: str, table: str) -> str:
    return f"CREATE EXTERNAL TABLE {name} STORED BY ICEBERG TBLPROPERTIES ('iceberg.catalog'='other', 'name'='{table}')"
