"""Pure decisions: the present state and a command give events, or a refusal.

Responsible for every rule about records, episodes and trust. Leaves reading the state to a
``View`` and applying events to ``index.fold``. Invariant: the same view and command always give
the same answer; nothing here has a clock, chance or I/O.
"""
