"""Keys of a role that a profile of AWS's tools names: botocore asks the server of roles for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sharkpy.base.settings import Conf
from sharkpy.sources.storage.access import access_to
from tests.storage.s3_servers import S3Server


def test_keys_of_a_role(tmp_path: Path, moto: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    role = "role_arn = arn:aws:iam::123456789012:role/reader\nsource_profile = base\nregion = us-east-1\n"
    keys = "[profile base]\naws_access_key_id = own\naws_secret_access_key = hidden\n"
    (tmp_path / "config").write_text(f"[profile reader]\n{role}endpoint_url = http://{moto.address}\n{keys}")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_PROFILE", "reader")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    access = access_to("s3a://bucket/place", Conf(), Conf())
    assert access.origin == 'keys of the profile "reader"'
    found = [access.secret(f"fs.s3a.{name}") for name in ("access.key", "secret.key", "session.token")]
    texts = [None if one is None else one.reveal() for one in found]
    assert None not in texts
    assert not {"own", "hidden"} & set(texts)
