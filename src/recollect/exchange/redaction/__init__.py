"""Secrets that can be told by their shape, found and taken out before anything is hashed.

``table`` has tokens by their beginning, ``names`` secrets by the name before them, ``commands``
and ``calls`` those in command lines and programs, ``structure``, ``blocks`` and ``columns`` those
with a form around them. ``values`` tells what a secret looks like, ``extent`` where it ends, and
``engine`` looks.
"""

from recollect.exchange.redaction.engine import Found, find, redact, refuse_secrets

__all__ = ["Found", "find", "redact", "refuse_secrets"]
