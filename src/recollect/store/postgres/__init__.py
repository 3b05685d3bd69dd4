"""The shared engine: ledgers of many spaces in one PostgreSQL database.

Responsible for keeping ledgers, tokens, jobs, wrapped keys and caches on a server. Leaves
durability, locking and replication to PostgreSQL, and the indexes to ``store.indexed``. Invariant:
of two writers at one head one is first, whatever their processes and machines.
"""
