"""The documented APIs of earlier designs, implemented over one memory.

Responsible for their names, signatures, defaults and results. Leaves every rule to the layers
below. Invariant: such an API has no storage of its own, but for the two logs of ``graph``; it
writes through the ledger and reads from a memory.
"""
