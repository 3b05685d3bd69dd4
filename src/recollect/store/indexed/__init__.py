"""One index over any ledger: SQLite in this process, in front of a ledger that is kept elsewhere.

Responsible for spaces whose ledger is a port: in memory, on a server. Leaves the ledgers to
``store.indexed.memory`` and ``store.postgres``, and files, whose ledger and index share a lock, to
``store.files``.
"""
