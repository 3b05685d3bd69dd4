"""Pure policy of reading: what a default read shows, how hits are ordered, how they are packed.

Responsible for choosing among what the index found. Leaves finding it to ``index.reads``.
Invariants: what was corrected or forgotten comes back only when asked for; unverified text never
stands among trusted hits.
"""
