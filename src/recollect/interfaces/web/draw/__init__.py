"""Drawing: pure functions from values to shapes and sentences.

Responsible for what a page shows beyond plain values. Leaves reading to ``pages`` and markup to the
templates. Invariant: no memory, no request and no clock here, so the same values always look alike.
"""
