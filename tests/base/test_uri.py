"""Locations as texts: paths and URIs are joined, cut and compared by the same laws, and secrets in them stay hidden."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sharkpy.base import uri
from sharkpy.base.errors import UnsupportedError
from tests.waiting import allowed

HOSTS = (
    *("s3://bucket", "s3a://b.c-d", "gs://b", "abfss://c@account.dfs.core.windows.net", "az://c"),
    *("hdfs://nn:8020", "HDFS://nn", "viewfs://c", "https://host"),
)
ROOTS = (*HOSTS, "hdfs://", "hdfs:")
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/?\0"), min_size=1, max_size=12).filter(
    lambda name: name not in (".", "..")
)
KEYS = st.lists(NAMES, max_size=4)


def location(root: str, names: list[str]) -> str:
    return f"{root}/{'/'.join(names)}" if names or root.endswith(":") else root


REMOTE = st.builds(location, st.sampled_from(ROOTS), KEYS)
LOCAL = st.builds(lambda names: f"/{'/'.join(names)}", KEYS)
ANY = st.one_of(REMOTE, LOCAL)


@given(ANY, NAMES, NAMES)
def test_what_was_joined_is_cut_again(folder: str, first: str, second: str) -> None:
    inside = uri.join(folder, first)
    assert (uri.parent(inside), uri.name_of(inside)) == (folder, first)
    assert uri.join(folder, first, second) == uri.join(inside, second) == uri.join(folder, f"{first}/{second}")
    assert uri.is_remote(inside) == uri.is_remote(folder)
    assert folder.endswith("/") or uri.join(f"{folder}/", first) == inside
    assert uri.join(folder) == uri.join(folder, "") == folder


@given(ANY, NAMES, NAMES)
def test_what_is_below_a_folder(folder: str, first: str, second: str) -> None:
    inside = uri.join(folder, first, second)
    assert uri.below(inside, folder) == f"{first}/{second}"
    assert uri.below(inside, f"{folder}/") == f"{first}/{second}"
    assert uri.below(folder, folder) == "."
    assert uri.below(folder, inside) is None
    assert uri.below(f"{inside}x", inside) is None
    assert uri.below(f"{folder}/../{first}", folder) is None


@given(REMOTE, LOCAL)
def test_what_lies_in_another_file_system_is_not_below(remote: str, path: str) -> None:
    assert uri.below(remote, path) is None
    assert uri.below(path, remote) is None
    assert uri.below(path, "/") is not None


@given(REMOTE, NAMES)
def test_the_normal_form_is_one(place: str, name: str) -> None:
    form = uri.normalized(place)
    assert uri.normalized(form) == form == uri.normalized(f"{place}/")
    assert uri.normalized(uri.join(place, name)) == uri.join(form, name)
    assert uri.scheme_of(form) == uri.scheme_of(form).lower() != "s3a"


@given(LOCAL, KEYS)
def test_paths_are_joined_and_cut_as_ever(path: str, names: list[str]) -> None:
    assert uri.join(path, *names) == str(Path(path, *names))
    assert uri.parent(path) == str(Path(path).parent)
    assert uri.name_of(path) == Path(path).name
    assert uri.normalized(path) == uri.redacted(path) == path


@given(st.builds(location, st.sampled_from(HOSTS), KEYS))
def test_a_place_without_secrets_is_shown_as_it_is(place: str) -> None:
    uri.check_no_secrets(place)
    assert uri.redacted(place) == place


@pytest.mark.parametrize(
    ("location", "scheme"),
    [
        ("/a:/b", ""),
        ("a/b", ""),
        ("s3", ""),
        ("s3:b", ""),
        ("1:/b", ""),
        (":/b", ""),
        (" s3://b", ""),
        ("file:/a", "file"),
        ("FILE:///a", "file"),
        ("S3a://b", "s3a"),
        ("hdfs:/a", "hdfs"),
        ("x+y-z.1:/", "x+y-z.1"),
    ],
)
def test_schemes(location: str, scheme: str) -> None:
    assert uri.scheme_of(location) == scheme
    assert uri.is_remote(location) == (scheme not in ("", "file"))


def test_places_that_are_the_same() -> None:
    same = ("s3://b/k", "S3A://b/k", "s3n://b/k/", "s3://b/k//")
    assert {uri.normalized(one) for one in same} == {"s3://b/k"}
    assert uri.normalized("hdfs:/k") == uri.normalized("hdfs:///k/") == "hdfs:///k"
    assert uri.below("s3a://b/t/p=1", "s3://b/t") == "p=1"
    others = ("s3://b/K", "s3://B/k", "s3://b//k", "s3://b/k%20", "gs://b/k", "/b/k")
    assert len({*map(uri.normalized, others), "s3://b/k"}) == len(others) + 1


def test_names_of_one_place() -> None:
    one = "abfss://c@account.dfs.core.windows.net/k"
    same = (one, "abfs://c@account.dfs.core.windows.net/k/", "wasbs://c@Account.blob.core.windows.net/k")
    assert {uri.canonical(name) for name in same} == {one}
    assert {uri.canonical(name) for name in ("hdfs://nn/K", "hdfs://NN:8020/K")} == {"hdfs://nn/K"}
    assert uri.canonical("hdfs://nn:9000/k") == "hdfs://nn:9000/k"
    assert (uri.canonical("s3a://B/k"), uri.canonical("/b/k")) == ("s3://B/k", "/b/k")


def test_names_of_hive_partitions_stay_as_they_are() -> None:
    folder = uri.join("s3a://b/t/", "d=2026-01-01 00%3A00/e=%2F")
    assert folder == "s3a://b/t/d=2026-01-01 00%3A00/e=%2F"
    assert uri.below(folder, "s3a://b/t") == "d=2026-01-01 00%3A00/e=%2F"


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ("s3a://KEY:SECRET@bucket/t", "s3a://***@bucket/t"),
        ("s3a://KEY@bucket/t", "s3a://***@bucket/t"),
        ("s3://KEY:SE/CR/ET@bucket/t", "s3://***@bucket/t"),
        ("s3://KEY:S@E/CRET@bucket/t", "s3://***@bucket/t"),
        ("s3:/KEY:SECRET@bucket/t", "s3:/***@bucket/t"),
        ("https://me:SE?CR#ET@host:81/t", "https://***@host:81/t"),
        ("hdfs://me@nn:8020/t", "hdfs://***@nn:8020/t"),
        ("abfss://c:SECRET@account/t", "abfss://***@account/t"),
        ("abfss://c@account/t?sv=1&sig=SECRET", "abfss://c@account/t?***"),
        ("https://host/t?X-Amz-Credential=KEY&X-Amz-Date=1", "https://host/t?***"),
        ("https://host/t?a=1&x-goog-signature=SECRET", "https://host/t?***"),
        ("https://host/t?AWSAccessKeyId=KEY", "https://host/t?***"),
        ("https://host/t?access_token=SECRET", "https://host/t?***"),
        ("https://host/t?%73ig=SECRET", "https://host/t?***"),
        ("https://host/t?sig", "https://host/t?***"),
    ],
)
def test_secrets_are_refused_and_never_shown(secret: str, shown: str) -> None:
    assert uri.redacted(secret) == shown
    with pytest.raises(UnsupportedError) as caught:
        uri.check_no_secrets(secret)
    assert shown in caught.value.message
    assert caught.value.hint is not None
    assert not any(word in str(caught.value) for word in ("KEY", "SECRET", "CR", "SE"))


SIGNS = st.text(alphabet="QZ/+=:@#?&%")
PASSWORDS = st.builds(lambda *parts: "".join(parts), SIGNS, st.sampled_from("QZ"), SIGNS)


@given(st.sampled_from(["s3", "s3a", "hdfs", "https", "abfss"]), PASSWORDS, st.sampled_from(["", "/t", "/t/u?v"]))
def test_no_part_of_a_password_is_shown(scheme: str, password: str, rest: str) -> None:
    place = f"{scheme}://user:{password}@host{rest}"
    assert not set("QZ") & set(uri.redacted(place))
    with pytest.raises(UnsupportedError):
        uri.check_no_secrets(place)


@pytest.mark.parametrize(
    "place",
    [
        "https://host/t?version=2&design=1&monkey=3",
        "hdfs://nn/home/me@here",
        "hdfs:/me@here/t",
        "hdfs:///me@here",
        "s3://b/a:b",
        "https://[::1]:80/t",
        "/data/me:you@here?sig=1",
        "file:///data/me:you@here?sig=1",
    ],
)
def test_other_signs_are_no_secrets(place: str) -> None:
    uri.check_no_secrets(place)


MANY = 60_000
HOSTILE = {
    "slashes": "s3:" + "/" * MANY,
    "signs": "s3://" + "@" * MANY,
    "colons": "s3://" + ":" * MANY,
    "passwords": "s3://k:" + "/@" * MANY,
    "letters": "a" * MANY,
    "a scheme": "a" * MANY + ":/",
    "parents": "s3://b/" + "../" * MANY,
    "parameters": "s3://b/?" + "&" * MANY,
    "escapes": "s3://b?" + "%41" * MANY,
    "words": "s3://b?" + "_-" * MANY + "=",
    "parts": "/" + "a/" * MANY,
    "lines": "s3://b/" + "\n" * MANY,
    "half a sign": "s3://b/\ud800",
}
CALLS: tuple[Callable[[str], object], ...] = (
    *(
        uri.scheme_of,
        uri.is_remote,
        uri.normalized,
        uri.canonical,
        uri.parent,
        uri.name_of,
        uri.redacted,
        uri.check_no_secrets,
    ),
    lambda text: uri.join(text, text),
    lambda text: uri.below(f"{text}/x", text),
)


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_texts_take_little_time(case: str) -> None:
    """Quadratic time would be a minute for most of these."""
    began = time.process_time()
    for call in CALLS:
        with contextlib.suppress(UnsupportedError):
            call(HOSTILE[case])
    assert time.process_time() - began < allowed(2)
