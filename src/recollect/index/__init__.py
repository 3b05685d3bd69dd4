"""The views: tables and full text, folded from events, thrown away and rebuilt at will.

Responsible for schema, named statements, the fold, the named reads and the state digest. Leaves
opening connections and transactions to ``store``, which passes in a ``Db``. Invariants: the fold
computes in Python and SQL only stores; every row carries the seq that made it, so that any past
position reads like the present one.
"""
