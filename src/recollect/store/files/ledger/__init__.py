"""The files of a ledger: the active one, the sealed segments, and what was not flushed yet."""
