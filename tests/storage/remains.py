"""Objects below a place in a bucket, and the objects that no table has."""

from __future__ import annotations

import sharkpy
from tests.storage.s3_servers import s3_client
from tests.waiting import until

_SWEEP_SECONDS = 30


def objects(address: str, place: str) -> set[str]:
    """Objects below a location."""
    scheme, _, rest = place.partition("://")
    bucket, _, prefix = rest.partition("/")
    client = s3_client(address)
    try:
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/")
        return {f"{scheme}://{bucket}/{one['Key']}" for page in pages for one in page.get("Contents", [])}
    finally:
        client.close()


def unnamed(context: sharkpy.SharkContext, address: str) -> set[str]:
    """Objects in a warehouse that the log does not name, and objects that it names and that do not exist. The claim of
    the warehouse is not among them.
    """
    warehouse = context.catalog.warehouse_dir
    found = {one for one in objects(address, warehouse) if "/.sharkpy/" not in one}
    locations = [table.location or "" for table in context.catalog.tables("default")]
    return found ^ set().union(*map(context.catalog.log.named, locations))


def unfinished_uploads(address: str, place: str) -> list[str]:
    """Names of the uploads in parts below a location that were begun and not ended."""
    bucket, _, prefix = place.partition("://")[2].partition("/")
    client = s3_client(address)
    try:
        found = client.list_multipart_uploads(Bucket=bucket, Prefix=f"{prefix}/")
        return [one["Key"] for one in found.get("Uploads", [])]
    finally:
        client.close()


def wait_for_the_sweep(context: sharkpy.SharkContext) -> None:
    """Wait until what killed processes have noted is removed."""
    until(lambda: not context.catalog.unfinished.open_folders(), _SWEEP_SECONDS)
