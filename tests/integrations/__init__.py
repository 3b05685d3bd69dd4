"""Tests of ``recollect.integrations``."""
