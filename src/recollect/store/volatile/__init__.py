"""The engine for tests and notebooks: a ledger and an index that live in this process."""
