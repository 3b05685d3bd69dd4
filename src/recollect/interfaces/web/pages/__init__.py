"""The pages, one module each.

A page is ``(asked, memory) -> View`` and runs in one worker thread; ``memory`` stands at the
position that the address asks for. Responsible for reading and for the view model. Leaves markup to
the templates. Invariant: a page writes nothing.
"""
