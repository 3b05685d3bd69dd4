"""Which records a new one is compared with.

Responsible for a few candidates: the last about the same subject, and those that the same pass made
and that share words. Leaves comparing them to ``lifecycle.proposals.alike``. Invariant: the number
of candidates, and of words that are kept, has a limit.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Final

from recollect.index.reads import Reads
from recollect.index.words.text import telling_tokens
from recollect.lifecycle import commands as c
from recollect.lifecycle.ids import ID_MIN_CHARS, record_id
from recollect.lifecycle.proposals.alike import ALIKE_MAX_CHARS
from recollect.lifecycle.proposals.derived import wanted

_CANDIDATES_MAX_COUNT: Final = 8
_WORDS_MAX_COUNT: Final = 20_000


class Beside:
    """The words of what a pass made lately, each with the last records that have it."""

    def __init__(self) -> None:
        self._having: dict[tuple[str | None, str], deque[str]] = {}

    def of(self, reads: Reads, act: c.Derive) -> tuple[str, ...]:
        """Candidates for a statement, which is noted for those that follow.

        A key has one holder, so what has a key is not compared.
        """
        if act.key is not None or act.intent == "delete" or len(act.text) > ALIKE_MAX_CHARS:
            return ()
        names = [(act.user, word) for word in sorted(telling_tokens(act.text))]
        shared = Counter(id for name in names for id in self._having.get(name, ()))
        best = [id for id, count in shared.most_common(_CANDIDATES_MAX_COUNT) if count > 1]
        if act.about is not None:
            best += reads.about_now(act.about, act.user, _CANDIDATES_MAX_COUNT)
        if len(self._having) > _WORDS_MAX_COUNT:
            self._having.clear()
        new = record_id(wanted(act), ID_MIN_CHARS)  # if it is free, as almost always
        for name in names:
            self._having.setdefault(name, deque(maxlen=_CANDIDATES_MAX_COUNT)).append(new)
        return tuple(dict.fromkeys(best))
