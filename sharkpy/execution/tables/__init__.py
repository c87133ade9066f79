"""Tables in memory: versions kept in step with files, loading, lost blocks made again, compaction, cache policies."""
