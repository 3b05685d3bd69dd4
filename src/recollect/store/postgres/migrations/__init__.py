"""The revisions of what cannot be rebuilt, as Alembic runs them.

Responsible for the order of revisions. Leaves their statements to ``store/postgres/sql`` and
starting them to ``store.postgres.migrate``. Invariant: a revision that was released never changes.
"""
