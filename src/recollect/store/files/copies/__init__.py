"""Copies of a memory's bytes: which files are ours, who holds them open, and restoring."""
