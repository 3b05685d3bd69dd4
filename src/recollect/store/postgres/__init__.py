"""The shared engine: ledgers and indexes of many spaces in one PostgreSQL database.

Responsible for the same contract as the files. Leaves durability, locking and replication to
PostgreSQL. Invariants: ledger and index change in one transaction; no statement runs outside a
space that was entered with a token.
"""
