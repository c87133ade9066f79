"""Java's regular expressions: parsed here, matched by RE2 in DuckDB if it has the same meaning, else under limits."""
