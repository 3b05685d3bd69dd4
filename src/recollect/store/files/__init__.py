"""The embedded engine: a ledger in files, an index in SQLite, a lock beside them.

``backend`` is a workspace of many spaces, ``space`` one of them; the other modules are parts of a
space. Leaves the write path that every engine shares to ``store``.
"""
