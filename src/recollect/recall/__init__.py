"""Pure policy of reading: what a default read shows, how hits are ordered, how they are packed.

Responsible for choosing among the rows that the index found. Leaves finding them to
``index.reads``. Invariants: corrected or forgotten records are returned only on request; unverified
text is never among the trusted hits.
"""
