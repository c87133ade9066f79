"""LDAP against a small directory on this machine, in the clear, with StartTLS and over TLS."""

from __future__ import annotations

import importlib.util
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ldap3.protocol.rfc4511 import (
    LDAPDN,
    BindResponse,
    ExtendedResponse,
    LDAPMessage,
    LDAPString,
    MessageID,
    ProtocolOp,
    ResultCode,
)
from pyasn1.codec.ber import decoder, encoder

from sharkpy.base.errors import ConfigurationError
from sharkpy.thrift.auth import AuthenticationError
from sharkpy.thrift.auth import ldap as ldap_module
from sharkpy.thrift.auth.ldap import LdapDirectory, ldap_directory
from sharkpy.thrift.config import ServerConfig
from tests.waiting import allowed

TLS = Path(__file__).parent.parent / "transport" / "tls"
PEOPLE = {"uid=bob,ou=people": "banana", "uid=a\\,b\\+c,ou=people": "comma", "bob@example.org": "banana"}


class FakeDirectory:
    """Answers binds: success, 49 for a wrong password, and an anonymous success without one, as directories do."""

    def __init__(self, *, over_tls: bool = False) -> None:
        self.binds: list[tuple[str, str]] = []
        self.encrypted: list[bool] = []
        self.is_silent = False
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(TLS / "server.crt", TLS / "server.key")
        self._over_tls = over_tls
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._socket.close()

    def _accept(self) -> None:
        try:
            while True:
                sock, _ = self._socket.accept()
                threading.Thread(target=self._serve, args=[sock], daemon=True).start()
        except OSError:
            pass

    def _serve(self, sock: socket.socket) -> None:
        try:
            if self._over_tls:
                sock = self.context.wrap_socket(sock, server_side=True)
            while data := sock.recv(65536):
                if self.is_silent:
                    time.sleep(3)
                    break
                message, _ = decoder.decode(data, asn1Spec=LDAPMessage())
                name = message["protocolOp"].getName()
                if name == "bindRequest":
                    sock.sendall(self._answer(message, "bindResponse", self._bind(sock, message)))
                elif name == "extendedReq":
                    sock.sendall(self._answer(message, "extendedResp", 0))
                    sock = self.context.wrap_socket(sock, server_side=True)
                else:
                    break
        except OSError:
            pass
        finally:
            sock.close()

    def _bind(self, sock: socket.socket, message: Any) -> int:
        request = message["protocolOp"]["bindRequest"]
        name, password = str(request["name"]), str(request["authentication"]["simple"])
        self.binds.append((name, password))
        self.encrypted.append(isinstance(sock, ssl.SSLSocket))
        return 0 if not password or PEOPLE.get(name) == password else 49

    def _answer(self, message: Any, kind: str, code: int) -> bytes:
        response = BindResponse() if kind == "bindResponse" else ExtendedResponse()
        response["resultCode"] = ResultCode(code)
        response["matchedDN"] = LDAPDN("")
        response["diagnosticMessage"] = LDAPString("")
        answer = LDAPMessage()
        answer["messageID"] = MessageID(int(message["messageID"]))
        answer["protocolOp"] = ProtocolOp().setComponentByName(kind, response)
        return bytes(encoder.encode(answer))


@pytest.fixture
def directory() -> Iterator[FakeDirectory]:
    directory = FakeDirectory()
    yield directory
    directory.close()


def authenticator(url: str, pattern: str = "uid={user},ou=people") -> LdapDirectory:
    return ldap_directory(ServerConfig(auth="ldap", ldap_url=url, ldap_user_pattern=pattern))


def refused(by: LdapDirectory, user: str, password: str) -> str:
    with pytest.raises(AuthenticationError) as caught:
        by.authenticate(user, password)
    return caught.value.message


def test_who_may_enter(directory: FakeDirectory) -> None:
    asked = authenticator(f"ldap://127.0.0.1:{directory.port}")
    asked.authenticate("bob", "banana")
    assert refused(asked, "bob", "wrong") == "wrong user name or password"
    assert refused(asked, "eve", "banana") == "wrong user name or password"


def test_an_empty_password_is_never_sent(directory: FakeDirectory) -> None:
    assert refused(authenticator(f"ldap://127.0.0.1:{directory.port}"), "bob", "") == "wrong user name or password"
    assert directory.binds == []


def test_names_stay_one_value(directory: FakeDirectory) -> None:
    asked = authenticator(f"ldap://127.0.0.1:{directory.port}")
    asked.authenticate("a,b+c", "comma")
    refused(asked, "bob,ou=people", "banana")
    assert directory.binds[-1][0] == "uid=bob\\,ou\\=people,ou=people"


def test_a_pattern_that_is_no_distinguished_name(directory: FakeDirectory) -> None:
    authenticator(f"ldap://127.0.0.1:{directory.port}", "{user}@example.org").authenticate("bob", "banana")


def test_starttls(directory: FakeDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = authenticator(f"ldap+starttls://localhost:{directory.port}")
    assert "cannot be reached" in refused(asked, "bob", "banana")  # its certificate is not known
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "server.crt"))
    asked.authenticate("bob", "banana")
    assert directory.encrypted == [True]


def test_tls(monkeypatch: pytest.MonkeyPatch) -> None:
    directory = FakeDirectory(over_tls=True)
    asked = authenticator(f"ldaps://localhost:{directory.port}")
    assert "cannot be reached" in refused(asked, "bob", "banana")
    assert directory.binds == []
    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "server.crt"))
    asked.authenticate("bob", "banana")
    assert directory.encrypted == [True]
    directory.close()


def test_a_directory_that_is_not_there(directory: FakeDirectory) -> None:
    directory.close()
    assert "cannot be reached" in refused(authenticator("ldap://127.0.0.1:1"), "bob", "banana")


def test_a_directory_that_does_not_answer(directory: FakeDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ldap_module, "SECONDS", 1)
    directory.is_silent = True
    began = time.monotonic()
    assert "cannot be reached" in refused(authenticator(f"ldap://127.0.0.1:{directory.port}"), "bob", "banana")
    assert time.monotonic() - began < allowed(2.8)


@pytest.mark.parametrize("url", ["", "localhost", "http://localhost", "ldap://", "ldap://host:99999"])
def test_urls_that_are_none(url: str) -> None:
    with pytest.raises(ConfigurationError):
        authenticator(url)


def test_a_pattern_without_the_user() -> None:
    with pytest.raises(ConfigurationError, match=r"has no \{user\}"):
        authenticator("ldaps://localhost", "uid=bob")


def test_without_ldap3_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"sharkpy\[ldap\]"):
        authenticator("ldaps://localhost")


def test_unencrypted_passwords_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    authenticator("ldaps://localhost")
    assert caplog.text == ""
    authenticator("ldap://localhost")
    assert "unencrypted" in caplog.text
