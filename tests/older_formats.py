"""SQL that removes from a catalog what later formats have added to it."""

FORMAT_10 = """
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
