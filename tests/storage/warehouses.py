"""Warehouses in buckets that the tests open."""

from __future__ import annotations

from pathlib import Path

import sharkpy
from tests.storage.s3_servers import ACCESS_KEY, SECRET


def keys(address: str) -> dict[str, str]:
    """Settings that open the buckets of a server."""
    return {
        "fs.s3a.access.key": ACCESS_KEY,
        "fs.s3a.secret.key": SECRET,
        "fs.s3a.endpoint": f"http://{address}",
    }


def open_warehouse(warehouse: str, address: str, home: Path, **conf: str) -> sharkpy.SharkContext:
    """Session over a warehouse in a bucket, whose catalog is in the local folder `home`."""
    return sharkpy.connect("local[2]", warehouse, **{"shark.catalog.dir": str(home)}, **keys(address), **conf)
