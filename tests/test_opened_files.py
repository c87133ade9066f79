"""List of the places that open files: a path that a statement names has passed the session's gate before (PathGate)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
ROOMS = (
    "base",
    "values",
    "catalog",
    "plan",
    "sql",
    "sources",
    "physical",
    "execution",
    "ml",
    "streaming",
    "explain",
    "session",
    "web",
)
FOLDERS = {room: ROOT / "sharkpy" / room for room in ROOMS} | {
    "columnar": ROOT / "columnar",
    "udf": ROOT / "udf",
    "optimizer": ROOT / "optimizer",
    "thrift": ROOT / "thrift",
}
"""Rooms of the engine and its server. The doors (cli, demo, notebook, …) run for the user who starts them."""

METHODS = frozenset({"open", "read_text", "read_bytes", "write_text", "write_bytes", "symlink_to", "hardlink_to"})
"""Methods of Path; other methods of these names are found too."""
FUNCTIONS = frozenset(
    {
        *("open", "fdopen", "memory_map", "OSFile", "input_stream", "output_stream", "ParquetFile", "ORCFile"),
        *("read_csv", "read_json", "read_parquet", "read_schema", "read_metadata", "LocalFileSystem", "from_uri"),
        *("copyfile", "copy2", "copytree", "unpack_archive", "spec_from_file_location", "run_path"),
    }
)
"""Functions of Python and Arrow, whatever their modules are called."""
SQL = ("read_parquet(", "read_csv", "sniff_csv", "read_json", "read_text(", "read_blob(", "glob(", "COPY ", "ATTACH ")
"""Words by which DuckDB's SQL opens files."""

GATE = "the gate itself"
LISTED = "a file of a table as sources.layout lists it, no device and no pipe; the table's LOCATION has passed"
PASSED = "a path of the statement that has passed"
FOUND = "a path of a caller that has found its access: `named_access_id` lets a statement's path pass the gate"
MADE = "a new file in a staging folder, below a folder that has passed"
OWN = "a file that the engine makes in a folder of its own"
OWNER = "a path of the engine's owner: a setting, an option of the server, or Python's interface"
SYSTEM = "a file of the machine or of the package"
NONE = "no file: bytes in memory, or a method of that name of another thing"

PLACES: dict[str, dict[str, str]] = {
    "base/subprocess_main.py": {"write_text": SYSTEM},
    "base/java.py": {"read_text": SYSTEM},
    "catalog/catalog_format.py": {"hardlink_to": OWN},
    "catalog/folder_readers.py": {"open": OWN},
    "catalog/path_gate.py": {"open": GATE},
    "catalog/unfinished_writes.py": {"open": OWN, "read_text": OWN},
    "columnar/block.py": {"memory_map": OWN},
    "columnar/block_cache.py": {"open": OWN},
    "columnar/block_writer.py": {"symlink_to": OWN},
    "catalog/unwritable_disk.py": {"copyfile": OWN, "open": OWN},
    "columnar/host.py": {"open": SYSTEM, "read_bytes": SYSTEM, "read_text": SYSTEM},
    "columnar/object_code.py": {"read_bytes": OWN, "write_bytes": OWN},
    "columnar/store.py": {"memory_map": OWN, "open": OWN},
    "columnar/block_folders.py": {"open": OWN, "symlink_to": OWN},
    "columnar/version.py": {"hardlink_to": OWN, "open": OWN, "read_text": OWN},
    "execution/backup/make_backup.py": {"hardlink_to": OWNER},
    "execution/commands/export_table.py": {"read_text": PASSED},
    "execution/commands/load_data.py": {"hardlink_to": PASSED},
    "execution/commands/writes/passed_files.py": {"copyfile": LISTED},
    "execution/commands/writes/table_feed.py": {"copy2": LISTED, "hardlink_to": LISTED},
    "execution/spark/jobs.py": {"open": NONE, "write_bytes": OWN},
    "execution/spark/jvm_process.py": {"open": OWN, "read_bytes": OWN, "read_text": OWN, "write_text": OWN},
    "execution/stages/stage_record.py": {
        "OSFile": OWNER,
        "copyfile": OWNER,
        "read_bytes": OWNER,
        "read_text": OWNER,
        "write_bytes": OWNER,
        "write_text": OWNER,
    },
    "execution/tables/file_folding.py": {"open": OWN, "symlink_to": OWN},
    "execution/tasks/block_rebuild.py": {"read_bytes": OWN},
    "execution/tasks/parquet_scan.py": {"read_parquet(": LISTED},
    "execution/tasks/sinks.py": {"open": OWN},
    "execution/tasks/steps/script_process.py": {"copyfile": PASSED, "symlink_to": OWN, "unpack_archive": PASSED},
    "execution/workers/frames.py": {"OSFile": OWN, "memory_map": OWN, "open": OWN},
    "execution/workers/worker_environment.py": {"read_bytes": SYSTEM},
    "explain/profile_html.py": {"read_text": SYSTEM},
    "ml/models/model_json.py": {"open": OWNER, "read_text": OWNER},
    "session/statement_tables.py": {"read_json": NONE},
    "sources/avro_decoder.py": {"input_stream": NONE},
    "sources/csv_files/reader.py": {"read_csv": NONE},
    "catalog/file_options.py": {"read_csv": "a word of SQL", "read_json": "a word of SQL"},
    "sql/grammar/file_readers.py": {"read_csv": "a word of SQL"},
    "udf/special_forms.py": {"read_csv": "a word of SQL", "read_json": "a word of SQL"},
    "sources/csv_files/detection.py": {"read_csv": "a word of a hint"},
    "sources/fold_files.py": {"ParquetFile": LISTED, "open": LISTED, "read_schema": LISTED},
    "sources/hadoop_codecs.py": {"input_stream": LISTED, "open": LISTED},
    "sources/lake/deleted_rows.py": {"ParquetFile": LISTED, "open": LISTED},
    "sources/lake/delta_format.py": {"open": NONE},
    "sources/lake/iceberg/hive.py": {"open": NONE},
    "sources/lake/iceberg/metadata_bytes.py": {"input_stream": NONE},
    "sources/open_files.py": {"open": LISTED},
    "sources/orc_reader.py": {"ORCFile": LISTED, "open": LISTED},
    "sources/orc_stripe.py": {"ORCFile": NONE},
    "sources/orc_tail.py": {"input_stream": NONE},
    "sources/new_files.py": {"open": MADE},
    "sources/parquet.py": {"ParquetFile": LISTED},
    "sources/duckdb_files.py": {"read_parquet(": LISTED},
    "sources/parquet_footer.py": {"open": LISTED},
    "sources/rcfile.py": {"read_text": NONE, "write_text": NONE},
    "sources/rows/json_rows.py": {"read_json": NONE},
    "sources/sequence_file.py": {"read_text": NONE, "write_text": NONE},
    "sources/storage/local_store.py": {"hardlink_to": FOUND, "open": FOUND},
    "sources/staged_files.py": {"hardlink_to": MADE},
    "sources/storage/access.py": {"open": OWNER},
    "sources/storage/aws_profile.py": {"read_text": OWNER},
    "sources/storage/setting_sources.py": {"read_bytes": OWNER},
    "sources/storage/requests.py": {"open": NONE, "read_text": SYSTEM},
    "streaming/epoch_log.py": {"open": OWN, "read_text": OWN},
    "streaming/lease.py": {"open": OWN, "read_text": OWN},
    "streaming/sources/folder_finder.py": {"open": LISTED},
    "thrift/server/auth/ldap.py": {"open": NONE},
    "thrift/server/auth/password_file.py": {"fdopen": OWNER, "read_text": OWNER},
    "thrift/server/calls.py": {"open": NONE},
    "thrift/server/guard_process.py": {"read_bytes": SYSTEM},
    "udf/user/make.py": {"spec_from_file_location": PASSED},
    "web/files.py": {"read_bytes": SYSTEM},
    "web/memory_calls.py": {"open": OWN},
    "web/sql_statement.py": {"open": NONE},
}
"""Openers of each file of the code, and whose paths they get. A new one is listed with its reason, or calls
`PathGate.read_text`, `PathGate.check` or `open_regular`.
"""


def openers(code: str) -> set[str]:
    """Names of the functions, methods and words of SQL in Python code by which it opens files."""
    return set(_openers(ast.parse(code)))


def _openers(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(name)) if name in FUNCTIONS | METHODS:
                yield name
            case ast.Call(func=ast.Attribute(attr=name)) if name in FUNCTIONS | METHODS:
                yield name
            case ast.Constant(str(text)):
                yield from (word for word in SQL if word in text)


def test_each_opener_is_listed() -> None:
    found = {}
    for room, folder in FOLDERS.items():
        for path in sorted(folder.rglob("*.py")):
            if not path.is_symlink() and (names := openers(path.read_text(encoding="utf-8"))):
                found[f"{room}/{path.relative_to(folder)}"] = names
    assert found == {file: set(listed) for file, listed in PLACES.items()}


@pytest.mark.parametrize(
    "code",
    [
        "open(path)",
        "Path(url).read_text('utf-8')",
        "path.open('rb')",
        "os.open(path, 0)",
        "pa.memory_map(path)",
        "pyarrow.fs.LocalFileSystem()",
        "pq.ParquetFile(path)",
        "connection.execute(f\"SELECT * FROM read_csv_auto('{path}')\")",
    ],
)
def test_an_opener_is_found(code: str) -> None:
    assert openers(code)
