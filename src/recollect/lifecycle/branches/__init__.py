"""Branches: named lines of proposals, and what is written on one."""
