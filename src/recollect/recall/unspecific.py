"""Questions that name nothing to look for: "what do you know about me?", "what is new?".

Responsible for recognizing them and for the time that they ask about. Leaves the answer to
``finding.recent``. Invariant: pure; a question with one word of a subject is never unspecific.
"""

from __future__ import annotations

from typing import Final

from recollect.index.words.text import STOP_WORDS, words
from recollect.recall.times import ALWAYS, TIME_WORDS, Span, span_of

# Words of questions about everything.
_GENERAL: Final = frozenset(
    """know known knows remember remembered remembers memory memories recollect everything all
    anything recent recently lately latest last newest new news time happen happened happens
    happening change changed changes changing changelog update updates updated do did done does
    me us you we i our my mine myself yourself about so far overview summary summarize recap tell
    show list give learn learned learnt store stored save saved keep kept hold held contents
    content have has had been be was were is are past today now since work worked working
    say said talk talked discuss discussed session sessions conversation conversations previously
    previous everyone stuff things thing please hi hello hey ok also what who which when
    how up there any more else other information info that this""".split()
)
# Words that name a subject only if something is about it.
_FAINT: Final = frozenset(
    """user users preference preferences prefer profile facts fact notes note context background
    project projects person personal settings details detail history decide decided decision
    decisions""".split()
)
_EVERYTHING: Final = frozenset(("", "*", "**", "%", "?", "."))


def unspecific(query: str, now: str, tz_minutes: int, *, found: bool) -> Span | None:
    """The time that an unspecific question asks about; None if a question names a subject.

    ``found`` says whether recall found something: then words such as "preferences" are a subject,
    and so is a day alone.
    """
    if query.strip() in _EVERYTHING:
        return ALWAYS
    general = _GENERAL | STOP_WORDS
    if not found:
        general |= _FAINT
    if not all(word in general or word in TIME_WORDS or word[0].isdigit() for word in words(query)):
        return None  # most questions, without parsing the time
    span, rest = span_of(query, now, tz_minutes)
    told = words(rest)
    if not set(told) <= general:
        return None
    is_asked = bool(told) if found else bool(told) or span != ALWAYS
    return span if is_asked else None
