"""Physical operators, the planner, replanning, and lowering to DuckDB."""
