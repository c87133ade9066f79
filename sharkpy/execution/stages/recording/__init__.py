"""Records of stages under `shark.debug.record`: written while a query runs, read to rerun one task."""
