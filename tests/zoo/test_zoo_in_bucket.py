"""The zoo in a warehouse that is in a bucket: every kind of store, along every path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("obstore", reason="the extra lake-s3 is not installed")

import sharkpy
from tests.storage.places import BUCKET
from tests.storage.s3_servers import S3Server
from tests.storage.warehouses import open_warehouse
from tests.zoo.animals import all_columns, few_columns
from tests.zoo.test_zoo import STORES, walk


@pytest.fixture(scope="module")
def context(seaweed: S3Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[sharkpy.SharkContext]:
    home = tmp_path_factory.mktemp("home")
    with open_warehouse(f"s3a://{BUCKET}/zoo", seaweed.address, home) as opened:
        yield opened


@pytest.mark.variants(5)
@pytest.mark.parametrize("store", STORES)
def test_part_of_the_pairs(context: sharkpy.SharkContext, store: str, tmp_path: Path) -> None:
    walk(context, store, tmp_path, few_columns())


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("store", [store for store in STORES if store != "csv"])
def test_all_pairs(context: sharkpy.SharkContext, store: str, tmp_path: Path) -> None:
    walk(context, store, tmp_path, all_columns())
