"""From text to vectors.

Responsible for cutting a text into pieces and for encoding them. Leaves storing and searching
vectors to ``store``, and when to encode to ``memory``. Invariant: nothing here runs during a write,
and no module here is imported before a vector is needed.
"""
