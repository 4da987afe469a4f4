"""Benchmarks: scripts that write JSON, and the pages rendered from it."""
