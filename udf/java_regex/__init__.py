"""Java's regular expressions: parsed here, matched by RE2 in DuckDB where it means the same, else under limits."""
