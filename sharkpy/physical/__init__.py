"""Physical operators, the planner, and lowering to the executors."""
