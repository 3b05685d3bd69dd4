"""Proofs as documents that are handed to others.

Responsible for their one form: JSON in ASCII with these fields in this order, so that a document
says the same to every reader and no byte of it can change. Leaves making a proof to ``store`` and
checking it to ``docs/verify_proof.py``, which shares no code with this. Invariant: a document holds
no key: the verifier must have the key from elsewhere.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable
from typing import Final

FORMAT: Final = "recollect-proof/1"


def render(
    line: bytes,
    path: Iterable[bytes],
    note: bytes,
    erased_by: tuple[bytes, Iterable[bytes]] | None = None,
) -> str:
    """The document for one event, and for the event that erased it, under one checkpoint."""
    document = {
        "format": FORMAT,
        **_event(line, path),
        "erased_by": None if erased_by is None else _event(*erased_by),
        "checkpoint": note.decode(),
    }
    return json.dumps(document, indent=1) + "\n"


def _event(line: bytes, path: Iterable[bytes]) -> dict[str, object]:
    return {"event": line.decode(), "path": [b64encode(hash).decode() for hash in path]}
