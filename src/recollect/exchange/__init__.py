"""What comes in from elsewhere, read as pure text.

Responsible for other programs' formats and, in ``redaction``, for secrets in what they bring.
Leaves what becomes of it to ``memory``. Invariant: nothing here reads or writes a file; what a
format does not allow is counted, never raised.
"""
