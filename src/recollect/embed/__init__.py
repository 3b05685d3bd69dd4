"""From text to vectors.

Responsible for cutting a text into pieces and for encoding them. Leaves keeping and searching
vectors to ``store``, and when to encode to ``memory``. Invariant: nothing here runs on a write
path, and no module here is imported before somebody needs a vector.
"""
