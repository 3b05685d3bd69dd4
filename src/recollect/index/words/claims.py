"""What a text claims: which words it says are so, and which it says are not.

Responsible for leaving out what only asks, doubts or supposes, and for telling a clause that denies
from one that affirms. Leaves what follows from it to ``lifecycle.trust.lineage``. Invariants: pure;
when in doubt, a clause claims nothing; the time is linear in the text.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, NamedTuple

from recollect.index.words.text import token_list
from recollect.index.words.transient import without_questions

# Compiled when they are needed, as those of `transient` are. A comma in "5,000" ends no clause.
_CLAUSE_ENDS: Final = (
    r"[,;:]\s|[.!]\s|\s[-\u2013\u2014]+\s|[()\n]"
    r"|\b(?:but|although|though|because|aber|sondern|weil)\b"
)
_ASKS: Final = r"[?\uff1f\u061f][\"')\]]*$"
_REQUEST: Final = r"\b(?:can|could|would|will) (?:you|u)\b"
_DOUBTS: Final = (
    r"\b(?:if|whether|unless|wonder(?:ing)?|maybe|perhaps|might|guess|ob|falls|wenn|vielleicht)\b"
    r"|^\W*(?:so |and |und )*(?:(?:is|are|was|were)n't"
    r"|(?:is|are|was|were|does|did)(?! (?:on|in|at|not|\w+ed)\b))\s"
)
_DENIES: Final = (
    r"\b(?:not?|never|no longer|cannot|neither|nor|without|nicht|nie|niemals|kein(?:e[mnrs]?)?)\b"
    r"|n't\b"
)
_SENTENCE_MAX_CHARS: Final = 20_000  # nobody says anything in a longer one


class Claims(NamedTuple):
    """The tokens of the clauses that say something is so, and of those that say it is not."""

    so: frozenset[str]
    not_so: frozenset[str]


def claims_of(text: str) -> Claims:
    """What a text claims."""
    so: set[str] = set()
    not_so: set[str] = set()
    for sentence in without_questions(text.replace("\u2019", "'")).splitlines():
        if len(sentence) > _SENTENCE_MAX_CHARS:
            continue
        if _has(_ASKS, sentence) and not _has(_REQUEST, sentence):
            continue  # "Tea is at nine?", "tea is at nine, right?"
        for clause in _re(_CLAUSE_ENDS).split(sentence):
            if not _has(_DOUBTS, clause):
                (not_so if _has(_DENIES, clause) else so).update(token_list(clause))
    return Claims(frozenset(so), frozenset(not_so))


def _has(pattern: str, text: str) -> bool:
    return _re(pattern).search(text) is not None


@cache
def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
