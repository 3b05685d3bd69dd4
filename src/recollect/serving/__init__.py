"""HTTP on loopback: shared by every server of this package.

Responsible for access (``guard``), for clients that are slow or idle (``connections``), for what an
error means (``failures``), for the stores that tokens have entered (``entries``) and for running a
server and its log (``server``). Leaves what is served to ``interfaces``.
Invariant: nothing here imports an interface.
"""
