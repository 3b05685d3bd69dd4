"""Hypothesis profiles for the whole suite. Chosen with `--hypothesis-profile`; no fixtures here.

Examples are random in every profile, and a failure prints the blob that reproduces it.
"""

from __future__ import annotations

from hypothesis import HealthCheck, settings

PRINTED = settings(
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)

settings.register_profile("default", PRINTED, max_examples=50)
settings.register_profile("ci", PRINTED, max_examples=100)
settings.register_profile("slow", PRINTED, max_examples=2_000)
settings.load_profile("default")
