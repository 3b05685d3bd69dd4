"""What comes in from elsewhere, read as pure text.

Responsible for other programs' formats. Leaves what becomes of it to ``memory``. Invariant: nothing
here reads or writes a file; bad input is counted, never raised.
"""
