"""Files to columns and back: text, Parquet, ORC, JSON."""
