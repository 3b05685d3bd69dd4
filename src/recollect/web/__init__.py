"""HTTP on loopback: what every server of this package stands behind.

Responsible for who may ask (``guard``), for clients that are slow or idle (``connections``), for
what is logged (``repeats``) and for running a server (``serving``). Leaves what is served to
``interfaces``. Invariant: nothing here knows an interface or a memory.
"""
