"""Hive's names of formats."""

from __future__ import annotations

import pytest

from sharkpy.catalog import hive_formats
from sharkpy.catalog.hive_formats import CONTAINERS, FORMATS, LAZY_BINARY, LAZY_SIMPLE
from sharkpy.catalog.lake_tables import LAKES
from sharkpy.catalog.model import StorageFormat
from sharkpy.sources.formats import SOURCES, source


def test_every_format_has_a_source() -> None:
    assert {one.name for one in FORMATS} == set(SOURCES)
    for name in (*SOURCES, *LAKES, "kafka", "rate", "bad rows"):
        assert getattr(source(name.upper()), "name", name) == name


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda one: one.name)
def test_words_and_classes_mean_the_same(container: hive_formats.Container) -> None:
    found = {hive_formats.format_of_word(word) for word in container.words}
    found |= {hive_formats.format_of_classes(i, o) for i in container.inputs for o in container.outputs}
    (storage,) = found
    assert storage is not None
    assert hive_formats.has_default_serde(storage)
    assert hive_formats.hive_classes(storage)[1:] == (container.inputs[0], container.outputs[0])


@pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.name)
def test_each_serde_is_told_again(one: hive_formats.HiveFormat) -> None:
    container = next(found for found in CONTAINERS if found.name == one.container)
    base = hive_formats.format_of_word(container.words[0])
    assert base is not None
    for serde in one.serdes:
        storage = hive_formats.with_serde(base, serde, (("key", "value"),))
        assert storage is not None
        assert (storage.name, hive_formats.serde_of(storage)) == (one.name, serde)


def test_a_serde_needs_its_container() -> None:
    assert hive_formats.with_serde(StorageFormat("text"), LAZY_BINARY, ()) is None
    assert hive_formats.with_serde(StorageFormat("orc"), LAZY_SIMPLE, ()) is None
    assert hive_formats.format_of_classes(CONTAINERS[0].inputs[0], CONTAINERS[1].outputs[0]) is None


def test_another_serde_replaces_class_and_properties() -> None:
    binary = hive_formats.with_serde(StorageFormat("sequencefile", (("a", "1"),)), LAZY_BINARY, (("b", "2"),))
    assert binary is not None
    text = hive_formats.with_serde(binary, LAZY_SIMPLE, (("a", "3"),))
    assert text == StorageFormat("sequencefile", (("b", "2"), ("a", "3")))
