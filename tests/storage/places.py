"""Stores that the tests open, and calls that their statement ends."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

import pytest

from sharkpy.base.cancellation import Cancellation
from sharkpy.base.errors import CancelledError
from sharkpy.base.secrets import Secret
from sharkpy.sources.storage.access import NO_KEYS, StorageAccess
from sharkpy.sources.storage.bucket_store import BucketStore
from sharkpy.sources.storage.errors import StoreName
from sharkpy.sources.storage.object_reader import ObjectReader
from sharkpy.sources.storage.store import Store, StoreLimits, StoreTraits
from sharkpy.sources.storage.stores import store_of
from tests.storage.azurite import ACCOUNT, KEY
from tests.storage.gcs_server import TOKEN
from tests.storage.s3_servers import ACCESS_KEY, SECRET
from tests.waiting import allowed

BUCKET = "tests"
QUICK = StoreLimits(timeout_seconds=10, retries=2, requests=16, part_bytes=5 << 20)
"""Limits under which a failure is reported soon."""
_SORTED = StoreTraits(writes=True, lists=True, puts_new=True, is_sorted=True)


@dataclass(frozen=True, slots=True)
class Place:
    """A folder of a store, of one test. `refused`: a character that names there cannot have. `deleted`: the message,
    with its SQLSTATE, for an object that was deleted before it is read.
    """

    store: Store
    folder: str
    has_tags: bool = True
    refused: str = ""
    deleted: tuple[str, str] = ("does not exist", "58P01")

    def path(self, name: str) -> str:
        return f"{self.folder}/{name}"


def access_to(options: dict[str, str], origin: str = "keys of the tests") -> StorageAccess:
    return StorageAccess.of({key: Secret(value) for key, value in options.items()}, origin)


def s3_access(address: str, access_key: str = ACCESS_KEY, secret: str = SECRET) -> StorageAccess:
    keys = {"fs.s3a.access.key": access_key, "fs.s3a.secret.key": secret}
    return access_to({**keys, "fs.s3a.endpoint": f"http://{address}"})


def s3_store(
    address: str,
    *,
    access: StorageAccess | None = None,
    bucket: str = BUCKET,
    limits: StoreLimits = QUICK,
    is_sorted: bool = False,
) -> Store:
    """Store of a bucket at an address. `is_sorted`: the server is known to list by name."""
    store = store_of(f"s3://{bucket}", access or s3_access(address), limits)
    if not is_sorted:
        return store
    assert isinstance(store, ObjectReader)
    return BucketStore(store.client, store.name, limits, _SORTED)


def gcs_options(address: str) -> dict[str, str]:
    return {"fs.gs.storage.root.url": f"http://{address}", "fs.gs.auth.access.token": TOKEN}


def gcs_place(address: str) -> Place:
    """A folder of Google's storage at an address that no other test uses."""
    root = f"gs://{BUCKET}"
    return Place(store_of(root, access_to(gcs_options(address)), QUICK), f"{root}/{uuid4().hex}")


def azure_options(address: str) -> dict[str, str]:
    return {"fs.azure.storage.endpoint": f"http://{address}/{ACCOUNT}", "fs.azure.account.key": KEY}


def azure_place(address: str) -> Place:
    """A folder of a container at an address that no other test uses."""
    root = f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net"
    store = store_of(root, access_to(azure_options(address)), QUICK)
    # Azurite looks at the condition first.
    return Place(store, f"{root}/{uuid4().hex}", deleted=("was changed", "58030"))


def hdfs_place(uri: str) -> Place:
    """A folder of the HDFS at `uri` that no other test uses."""
    store = store_of(uri, access_to({}), QUICK)
    return Place(store, f"{uri}/{uuid4().hex}", has_tags=False, refused=":")


def http_store(address: str) -> Store:
    return store_of(f"http://{address}", access_to({}, NO_KEYS), QUICK)


def memory_store(*, is_sorted: bool = True) -> Store:
    """Store of a bucket in the memory of this process."""
    from obstore.store import MemoryStore

    traits = dataclasses.replace(_SORTED, is_sorted=is_sorted)
    return BucketStore(MemoryStore(), StoreName("memory", "memory", NO_KEYS), QUICK, traits)


def ended(call: Callable[[], object], when: Callable[[], object] | None = None) -> float:
    """Seconds from the end of its statement, a moment after `when` holds, to the end of a call; CancelledError is
    asserted.
    """
    statement = Cancellation()
    at: list[float] = []

    def end() -> None:
        deadline = time.monotonic() + allowed(30)
        while when is not None and not when() and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.1)
        at.append(time.monotonic())
        statement.cancel()

    thread = threading.Thread(target=end)
    thread.start()
    with statement.active(), pytest.raises(CancelledError):
        call()
    told = time.monotonic()
    thread.join()
    return told - at[0]
