"""Frozen values, the closed union of events, limits and the checks that arguments pass.

Responsible for what things *are*. Leaves bytes to ``ledger``, tables to ``index`` and decisions
to ``lifecycle``. Invariant: no I/O, no clock, no chance.
"""
