"""One port, several engines: where ledger and index are stored and how they are written.

Responsible for locks, files, transactions and the write path. Leaves decisions to ``lifecycle``,
bytes to ``ledger``, rows to ``index``. Invariants: acknowledged data is on the disk; the index may
lag behind the ledger but is never ahead of it.
"""
