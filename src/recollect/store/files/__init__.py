"""The embedded engine: a ledger in files, an index in SQLite, a lock beside them.

``backend`` is a workspace of many spaces, ``space`` one of them; the rest of the folder is what a
space is made of. Leaves the write path that every engine shares to ``store``.
"""
