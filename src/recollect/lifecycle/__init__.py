"""Pure decisions: the current state and a command give events, or an error.

Responsible for every rule about records, episodes and trust. Leaves reading the state to a
``View`` and applying events to ``index.fold``. Invariant: the same view and command always give
the same answer; nothing here uses a clock, chance or I/O.
"""
