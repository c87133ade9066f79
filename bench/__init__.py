"""Benchmarks: `python -m bench tpch|bigdata|micro`. Each engine runs in a process of its own over the same data."""
