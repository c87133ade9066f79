"""Fixtures of the tests of storage: servers of S3, their clients, and the engine's access to them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from tests.hadoop import HadoopCluster
from tests.storage.azurite import AzuriteServer, azurite_program
from tests.storage.fault_proxy import FaultProxy, fault_proxy
from tests.storage.gcs_server import GcsServer
from tests.storage.places import BUCKET
from tests.storage.s3_servers import MotoServer, S3Server, SeaweedServer, running, s3_client


@pytest.fixture(autouse=True)
def no_keys_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the settings of clouds from the environment of the tests."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_", "HADOOP_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def moto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with running(MotoServer(tmp_path_factory.mktemp("moto")), BUCKET) as server:
        yield server


@pytest.fixture(scope="module")
def proxy(moto: S3Server) -> Iterator[FaultProxy]:
    """Faults between the engine and moto."""
    with fault_proxy(moto.address) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    if SeaweedServer.program() is None:
        pytest.skip("the program weed is not installed: its package is for Linux alone")
    with running(SeaweedServer(tmp_path_factory.mktemp("seaweed")), BUCKET) as server:
        yield server


@pytest.fixture(scope="session")
def azurite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AzuriteServer]:
    if azurite_program() is None:
        pytest.skip("Azurite is not there, and cannot be fetched: that needs Node.js, npm and its registry")
    server = AzuriteServer(tmp_path_factory.mktemp("azurite"))
    try:
        server.start()
        server.create_container(BUCKET)
        yield server
    finally:
        server.stop()


@pytest.fixture(scope="session")
def gcs() -> Iterator[GcsServer]:
    server = GcsServer(BUCKET)
    yield server
    server.close()


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HadoopCluster]:
    """HDFS of a name node and three data nodes, two of which have a block. It starts in some ten seconds: tests with it
    are slow ones.
    """
    pytest.importorskip("hdfs_native", reason="the extra lake-hdfs is not installed")
    cluster = HadoopCluster(tmp_path_factory.mktemp("hdfs"))
    try:
        cluster.start_hdfs()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def s3(moto: S3Server) -> Iterator[Any]:
    """Amazon's client of moto."""
    client = s3_client(moto.address)
    yield client
    client.close()


@pytest.fixture
def folder() -> str:
    """A folder of the bucket that no other test uses."""
    return f"s3://{BUCKET}/{uuid4().hex}"
