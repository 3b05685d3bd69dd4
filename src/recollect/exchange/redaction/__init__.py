"""Secrets recognized by their shape, found and removed before anything is hashed.

``table`` has tokens by their prefix, ``names`` secrets by the name before them, ``commands`` and
``calls`` those in command lines and programs, ``structure``, ``blocks`` and ``columns`` those
recognized by the structure around them. ``values`` decides whether a value looks like a secret,
``extent`` where it ends, and ``engine`` searches.
"""

from recollect.exchange.redaction.engine import Secret, find, redact, refuse_secrets, with_secrets

__all__ = ["Secret", "find", "redact", "refuse_secrets", "with_secrets"]
