"""The formats of other programs, parsed as pure text.

Responsible for these formats and, in ``redaction``, for secrets in them. Leaves storing the result
to ``memory``. Invariant: nothing here reads or writes a file; malformed input is counted, never
raised.
"""
