"""USING csv: files in the form of Spark's CSV reader and writer."""
