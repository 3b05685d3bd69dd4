"""Witnesses of a ledger: others that keep its checkpoints, in a folder or behind HTTP.

Responsible for asking them, for the witness in a folder, and for what one over HTTP is sent. Leaves
the rule to ``proof.witness``, and serving one to ``web``. Invariant: without a witness in the list
of a ledger, nothing here is loaded.
"""
