"""The operations: one function for each, from a checked request to a value.

Responsible for turning a request into one call of ``Memory``. Leaves shapes to ``shapes`` and
errors to ``problems``. Invariant: no rule about memory is here.
"""
