"""The acts: what a form changes.

One module for each kind of thing. An act is ``(form, memory) -> Done``. Responsible for turning a
form into one call of the memory. Leaves every rule to the memory. Invariant: an act passes on what
the form expected to be unchanged and the key that makes it happen once.
"""
