"""Names of files that streams want: what was put together comes apart again."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from sharkpy.catalog.folder_readers import WantedFiles, wanted_file, wanted_name
from sharkpy.catalog.hive_partition import partition_name

PATHS = st.builds(
    lambda root, key: f"{root}/{key}",
    st.sampled_from(["s3://bucket", "abfss://c@a.dfs.core.windows.net", "hdfs://host:8020", "hdfs:"]),
    st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1),
)


@given(PATHS, st.lists(st.text(st.characters(exclude_categories=("Cs",))), max_size=3))
@example("s3://b/t/_files/1/day=a%3A1/part", ["a:/1", "s3://b"])
def test_names_come_apart(path: str, values: list[str]) -> None:
    partition = partition_name([f"c{number}" for number in range(len(values))], values)
    assert wanted_file(wanted_name(path, partition)) == (partition, path)


def test_names_of_local_files_have_no_path() -> None:
    for name in ("0" * 32 + "/0000000-part-0.parquet", "0" * 32 + "/day=a%3A/0000001-x:y.csv", "!" + "0" * 32, ""):
        assert wanted_file(name) == ("", "")


class Names(list[str]):
    __hash__ = object.__hash__  # type: ignore[assignment]

    def wanted_names(self) -> list[str]:
        return self


def test_each_catalog_is_asked() -> None:
    wanted, one, other = WantedFiles(), Names(["s3://b/x"]), Names(["day=1/s3://b/y"])
    wanted.add(one)
    wanted.add(other)
    assert wanted.among(["s3://b/x", "s3://b/y", "s3://b/z"]) == {"s3://b/x", "s3://b/y"}
    assert wanted.among(["s3a://b/x", "s3n://b/z"]) == {"s3a://b/x"}, "one place has several names"
    wanted.forget(one)
    assert wanted.among(["s3://b/x", "s3://b/y"]) == {"s3://b/y"}
    del other
    assert wanted.among(["s3://b/y"]) == set()
