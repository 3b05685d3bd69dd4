"""Tests of ``recollect.aio``."""
