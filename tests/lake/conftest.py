"""Fixtures that the tests of remote lake tables share with the tests of storage: servers of S3, and HDFS."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.storage.conftest import hdfs, moto, no_keys_of_others, seaweed
from tests.storage.fault_proxy import FaultProxy, fault_proxy
from tests.storage.s3_servers import S3Server

__all__ = ["hdfs", "moto", "no_keys_of_others", "proxy", "seaweed"]


@pytest.fixture(scope="module")
def proxy(moto: S3Server) -> Iterator[FaultProxy]:
    """Faults between the engine and moto."""
    with fault_proxy(moto.address) as proxy:
        yield proxy
