"""Records of stages that ran, under `shark.debug.record`: written while a query runs, read to run one task again."""
