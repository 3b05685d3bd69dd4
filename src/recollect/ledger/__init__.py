"""The truth, as pure functions over bytes: encode, chain, recover, verify.

Responsible for the format that ``docs/format/ledger.md`` states. Leaves files, locks and fsync
to ``store``. Invariant: no I/O, no clock, no chance; the same bytes always mean the same events.
"""
