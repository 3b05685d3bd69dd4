"""The memories on this machine: which of them are known, and moving one out of git's way.

Responsible for the list of known memories and for one move. Leaves finding a memory's place to
``config`` and opening it to ``memory``.
"""
