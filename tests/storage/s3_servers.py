"""Servers of S3 on this machine, each a process of its own on a free port: moto and SeaweedFS."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.ports import free_ports
from tests.waiting import allowed

ACCESS_KEY = "sharkpy"
SECRET = "secret-of-the-tests"
_START_SECONDS = 60
_TRIES = 3


def s3_client(address: str) -> Any:
    """Amazon's own client, for changes of a bucket by another program."""
    import boto3
    from botocore.config import Config

    return boto3.client(
        "s3",
        endpoint_url=f"http://{address}",
        aws_access_key_id=ACCESS_KEY,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
        config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 2}),
    )


class S3Server:
    """Server that `command` starts; it answers at `address` once `start` returns. `more_ports`: names of further ports
    that it takes.
    """

    more_ports: tuple[str, ...] = ()

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.ports: dict[str, int] = {}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def command(self) -> list[str]:
        raise NotImplementedError

    def start(self) -> None:
        """Start it on free ports. Try again on other ports if another process takes one of them first."""
        for left in reversed(range(_TRIES)):
            self.port, *others = free_ports(1 + len(self.more_ports))
            self.ports = dict(zip(self.more_ports, others, strict=True))
            try:
                self._start()
            except AssertionError:
                self.stop()
                if not left:
                    raise
            else:
                return

    def _start(self) -> None:
        log_file = self.folder / "log"
        with open(log_file, "ab") as log:
            self._process = subprocess.Popen(self.command(), stdout=log, stderr=log, cwd=self.folder)
        deadline = time.monotonic() + allowed(_START_SECONDS)
        while not self._answers():
            assert self._process.poll() is None, log_file.read_text()[-4000:]
            assert time.monotonic() < deadline, log_file.read_text()[-4000:]
            time.sleep(0.1)

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/")
            return connection.getresponse().status < 500
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()


class MotoServer(S3Server):
    """moto's imitation of S3. It takes any signature, and whether a name is taken and the put are two steps of it."""

    def command(self) -> list[str]:
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]


class SeaweedServer(S3Server):
    """SeaweedFS with its S3 gateway: signatures are checked, and of several writers of a new name only one succeeds."""

    more_ports = (
        *("master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc"),
        "s3.port.grpc",
    )

    @staticmethod
    def program() -> str | None:
        return shutil.which("weed", path=sysconfig.get_path("scripts")) or shutil.which("weed")

    def command(self) -> list[str]:
        program = self.program()
        assert program is not None
        credentials = [{"accessKey": ACCESS_KEY, "secretKey": SECRET}]
        identity = {"name": "tests", "credentials": credentials, "actions": ["Admin", "Read", "Write", "List"]}
        config = self.folder / "s3.json"
        config.write_text(json.dumps({"identities": [identity]}))
        places = [f"-dir={self.folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"]
        gateway = ["-s3", f"-s3.port={self.port}", f"-s3.config={config}", "-s3.port.iceberg=0", "-s3.port.lance=0"]
        volumes = ["-volume.max=20", "-master.volumeSizeLimitMB=64"]
        ports = [f"-{name}={port}" for name, port in self.ports.items()]
        return [program, "server", *places, "-filer", *gateway, *ports, *volumes]

    def stop(self) -> None:
        super().stop()
        for port in (self.port, *self.ports.values()):
            for left in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                left.unlink()


@contextmanager
def running(server: S3Server, bucket: str) -> Iterator[S3Server]:
    """Start a server with an empty bucket, and stop it after the body."""
    try:
        server.start()
        client = s3_client(server.address)
        client.create_bucket(Bucket=bucket)
        client.close()
        yield server
    finally:
        server.stop()
