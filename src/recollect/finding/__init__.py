"""Finding: from a query to hits, and from hits to the contents of a context.

Responsible for asking the index and the vectors for candidates and for turning them into answers.
Leaves the order of hits and what may be shown to ``recall``, the calls themselves to ``memory``.
"""
