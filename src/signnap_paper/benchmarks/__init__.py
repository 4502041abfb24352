"""Benchmarks that an installed copy can run."""
