"""The views: tables and full text, folded from events; they can be rebuilt at any time.

Responsible for schema, named statements, the fold, the named reads and the state digest. Leaves
opening connections and transactions to ``store``, which passes in a ``Db``. Invariants: the fold
computes in Python, and SQL only stores; every row has the seq that made it, so that any past
position can be read like the current one.
"""
