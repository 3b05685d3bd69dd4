"""The documented faces of earlier designs over one memory.

Responsible for their names, signatures, defaults and results. Leaves every rule to the layers
below. Invariant: a face keeps nothing of its own; what it writes goes through the ledger, and what
it shows is read from a memory.
"""
