"""USING csv: files as Spark's CSV reader and writer have them."""
