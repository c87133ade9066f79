"""Kinds of objects in a folder: data files, manifests or neither."""

from __future__ import annotations

import dataclasses
import random

from hypothesis import given
from hypothesis import strategies as st

from sharkpy.sources.folders.remote_listing import RemoteListing, data_file, is_listed, manifest_name
from sharkpy.sources.hadoop_codecs import codec_of_path
from sharkpy.sources.layout import DataFile
from sharkpy.sources.storage.store import ObjectFacts

FOLDER = "s3://b/t"
NAMES = (
    "a",
    "b-1",
    "b",
    "b.gz",
    "_generations",
    "_files",
    ".x",
    "base_0000001",
    "delta_0000002",
    "delta_0000000",
    "c/",
)
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)


@given(paths=st.lists(st.tuples(PATHS, st.integers(0, 1)), unique_by=lambda one: one[0]), seed=st.integers(0, 9))
def test_each_object_is_in_its_place(paths: list[tuple[str, int]], seed: int) -> None:
    objects = [ObjectFacts(f"{FOLDER}/{path}", size, 1, f'"{path}"') for path, size in paths]
    random.Random(seed).shuffle(objects)
    found = RemoteListing.of(objects, FOLDER, "id")
    manifests = {one.path for one in objects if manifest_name(one, FOLDER) is not None}
    files = [file for one in objects if (file := data_file(one, FOLDER, "id")) is not None]
    assert {facts.path for facts in found.manifests.values()} == manifests
    assert manifests.isdisjoint(file.path for file in files)
    for name, listed in found.plain.items():
        below = [file for file in files if file.path.split("/")[4] == name]
        assert listed == sorted(below, key=lambda file: file.path.split("/"))
        assert {file.access for file in listed} == {"id"}
    assert sum(map(len, found.plain.values())) == len(files)
    expected = {file.path for file in files} | manifests
    assert {one.path for one in objects if is_listed(one, FOLDER)} == expected


def test_manifests_have_a_generation_and_bytes() -> None:
    place = f"{FOLDER}/_generations"
    assert manifest_name(ObjectFacts(f"{place}/delta_0000002", 1, 1, ""), FOLDER) == "delta_0000002"
    for path, size in ((f"{place}/delta_0000002", 0), (f"{place}/a", 1), (f"{place}/delta_0000002/a", 1)):
        assert manifest_name(ObjectFacts(path, size, 1, ""), FOLDER) is None


def test_files_of_partitions_keep_the_rest() -> None:
    file = DataFile("s3://b/t/f", 1, 2, "old", "form", "tag", "id")
    for form in ("", "other"):
        expected = dataclasses.replace(file, partition="p=1", form=form or file.form)
        found = file.in_partition("p=1", form)
        assert (found, found.access) == (expected, "id")


def test_codecs_go_by_the_suffix_of_the_last_name() -> None:
    assert (found := codec_of_path("s3://b/t.d/a.txt.GZ")) is not None
    assert found.name == "gzip"
    for path in ("s3://b/t.gz/a", "/t/.gz", "/t/gz", "/t/a.gz.", "a", ""):
        assert codec_of_path(path) is None, path
