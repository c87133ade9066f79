"""Objects below a place in a bucket, and the objects among them that no manifest names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sharkpy.sources.folders.manifests import decode_manifest
from tests.storage.s3_servers import s3_client
from tests.waiting import until

_SWEEP_SECONDS = 30


def objects(address: str, place: str) -> dict[str, bytes]:
    """Objects below a location, with the contents of manifests."""
    bucket, _, prefix = place.partition("://")[2].partition("/")
    client = s3_client(address)
    try:
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/")
        names = [one["Key"] for page in pages for one in page.get("Contents", [])]
        return {
            f"s3a://{bucket}/{name}": client.get_object(Bucket=bucket, Key=name)["Body"].read()
            if "/_generations/" in name
            else b""
            for name in names
        }
    finally:
        client.close()


def unnamed(address: str, place: str) -> list[str]:
    """Objects that are neither manifests nor named by one, and named objects that do not exist."""
    found = objects(address, place)
    manifests: Mapping[str, Any] = {name: decode_manifest(body, name, "") for name, body in found.items() if body}
    named = {file.path for manifest in manifests.values() for file in manifest.files}
    return sorted(named ^ (found.keys() - manifests.keys()))


def unfinished_uploads(address: str, place: str) -> list[str]:
    """Names of the uploads in parts below a location that were begun and not ended."""
    bucket, _, prefix = place.partition("://")[2].partition("/")
    client = s3_client(address)
    try:
        found = client.list_multipart_uploads(Bucket=bucket, Prefix=f"{prefix}/")
        return [one["Key"] for one in found.get("Uploads", [])]
    finally:
        client.close()


def wait_for_the_sweep(context: Any) -> None:
    """Wait until what killed processes have noted is removed."""
    until(lambda: not context.catalog.unfinished.open_folders(), _SWEEP_SECONDS)
