"""Catalogs of earlier formats: SQL that removes what later formats have added, and folders of generations."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

from sharkpy.base.uri import Locations
from sharkpy.catalog.readable_catalog import CATALOG_FILE

FORMAT_11 = """
UPDATE file_ SET path =
    substr(path, 2 + (SELECT length(folder) FROM folder_ WHERE folder_.folder_id = file_.folder_id));
DROP INDEX database_place;
DROP INDEX table_place;
DROP INDEX partition_place;
DROP INDEX partition_changed;
DROP INDEX partition_added;
DROP TABLE partition_change_;
ALTER TABLE partition_ DROP COLUMN changed;
ALTER TABLE file_ DROP COLUMN tag;
DROP INDEX file_path;
CREATE INDEX file_path ON file_ (folder_id, path);
PRAGMA user_version = 11;
"""
FORMAT_10 = f"""
{FORMAT_11}
DROP TABLE change_;
DROP TABLE past_definition_;
DROP TABLE past_partition_;
DROP TABLE dropped_;
DROP TABLE dropped_database_;
DROP INDEX commit_time;
DROP INDEX folder_table;
ALTER TABLE commit_ DROP COLUMN author;
ALTER TABLE commit_ DROP COLUMN statement;
ALTER TABLE folder_ DROP COLUMN table_id;
ALTER TABLE file_ DROP COLUMN num_rows;
ALTER TABLE partition_ DROP COLUMN added;
PRAGMA user_version = 10;
"""
FORMAT_9 = f"""
{FORMAT_10}
DROP TABLE commit_;
DROP TABLE folder_;
DROP TABLE file_;
PRAGMA user_version = 9;
"""


def with_generations(warehouse: Path) -> None:
    """Give a closed warehouse format 9, whose managed tables have a folder for each generation."""
    with closing(sqlite3.connect(warehouse / CATALOG_FILE)) as file:
        current = "SELECT folder, position, added, path FROM file_ JOIN folder_ USING (folder_id) WHERE removed IS NULL"
        absolute = Locations.below(str(warehouse)).absolute
        for folder, first, last, path in file.execute(f"{current} ORDER BY file_id").fetchall():
            name = f"delta_{last:07d}" if first == last else f"delta_{first:07d}_{last:07d}"
            target = Path(absolute(folder), name)
            target.mkdir(parents=True, exist_ok=True)
            shutil.move(absolute(path), target)
        for (folder,) in file.execute("SELECT folder FROM folder_"):
            shutil.rmtree(Path(absolute(folder), "_files"), ignore_errors=True)
        file.executescript(FORMAT_9)
