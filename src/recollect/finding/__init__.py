"""Finding: from a question to hits, and from hits to what a context holds.

Responsible for asking the index and the vectors for candidates and for turning them into answers.
Leaves the order of hits and what may be shown to ``recall``, the calls themselves to ``memory``.
"""
