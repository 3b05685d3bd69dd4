"""Ids of entries: ``YYYYMMDD-HHMM-xxxxxx``.

Responsible for their form. Leaves whether an id is free to the memory, which refuses one that is
used. Invariant: an id has six hexadecimal digits of chance, also after a collision.
"""

from __future__ import annotations

from hashlib import blake2s
from typing import Final

from recollect.memory.handle.acts import stamp
from recollect.mirror import words
from recollect.store.seam import Seam

_CHANCE_BYTES: Final = 8
_DIGEST_BYTES: Final = 3


def make_id(seam: Seam, tz_minutes: int) -> str:
    """An id of this minute, in local time as the heading has it."""
    local = words.local(seam.now(), tz_minutes)
    chance = blake2s(seam.random(_CHANCE_BYTES), digest_size=_DIGEST_BYTES).hexdigest()
    return f"{stamp(words.clock_time(local))}-{chance}"
