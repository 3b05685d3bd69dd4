"""Measurements of this package against the bare engines it stands on.

Responsible for figures that mean something on any machine: ratios taken in one run, on one disk.
"""
