"""Tables in memory: versions that follow the files, loading, repair of lost blocks, compaction, cache policies."""
