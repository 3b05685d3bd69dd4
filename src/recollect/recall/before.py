"""Questions about a value that was replaced: "what was the old port?", "who led it before?".

Responsible for recognizing them. Leaves reading earlier values to ``finding.earlier`` and their
place to ``recall.scoring``. Invariants: pure; in doubt a question is about what holds now.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

_ASKS: Final = r"\b(?:what|which|who|whose|where|how (?:much|many|big|long|high|fast|often))\b"
_BE: Final = r"(?:was|were|is|are)"
_WAS: Final = r"(?:was|were|had been)"
_THE: Final = r"(?:the|my|our|your|his|her|its|their|this|that|\w+(?:'|\u2019)s)"
# Neither what was said before nor the week before is a value that was replaced.
_OTHER: Final = (
    r"(?:chat|conversation|discussion|session|message|question|answer|prompt|meeting|talk|turn"
    r"|day|night|morning|evening|week|weekend|month|quarter|year|sprint|release|version"
    r"|commit|step|page|example|attempt|incident)s?\b"
)
# The thing that had the value: a few words without a possessive, up to the end of the question.
_THING: Final = rf"(?!{_OTHER})[\w.\-/]+(?: (?!{_OTHER})[\w.\-/]+){{0,4}}"
# Verbs of states. "What did we try before?" asks about events.
_STATE: Final = (
    r"(?:be|have|use|live|work|sit|lead|own|run|host|keep|store|pay|cost|prefer|like|drive|belong"
    r"|call|go by|listen|point|deploy|log|stay|report)"
)
_LED: Final = (
    r"(?:led|ran|owned|had|held|managed|maintained|headed|kept|handled|chaired|covered|wrote|was"
    r"|were|used|hosted|lived|worked|sat)"
)
_TIME: Final = (
    r"(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|may"
    r"|june|july|august|september|october|november|december|christmas|easter|new year)"
)
_CHANGE: Final = (
    r"(?:(?:the|this|that|its|our|my) (?:\w+ )?(?:change|move|switch|migration|update|upgrade"
    r"|correction)|(?:it|that|this|we|i|they|you) (?:was |were |got )?(?:changed|moved|switched"
    r"|migrated|updated|upgraded|corrected|replaced)(?: (?:it|that|them))?)"
)
_END: Final = r"(?: again)?\s*[?!.]*\s*$"
_PATTERNS: Final = (
    # what was the old staging port? who is our former CTO?
    rf"{_ASKS} (?:\w+ )?{_WAS} (?:{_THE} )?old {_THING}{_END}",
    rf"(?:{_ASKS}|what\s?'s|who\s?'s) ?(?:{_BE} )?(?:{_THE} )(?:previous|former|prior|earlier) "
    rf"{_THING}{_END}",
    # tell me what the old port was
    rf"{_ASKS} (?:{_THE} )?(?:old|previous|former|prior|earlier) {_THING} {_WAS}{_END}",
    # previous staging port; not a statement, such as "the previous one was better"
    rf"^\W*(?:previous|former) (?!.*\b(?:is|are|was|were)\b){_THING}{_END}",
    # which port was staging on before? where did we host it before the move?
    rf"{_ASKS} .*\b(?:{_WAS}\b.*|did .*\b{_STATE}\b.*) (?:before|earlier)(?: {_CHANGE})?{_END}",
    rf"\bwhen {_WAS} (?!.*\b(?:last|first|next)\b).* (?:before|previously){_END}",
    rf"{_ASKS} .*\b(?:{_WAS}|did|{_LED})\b.*\b(?:previously|formerly)\b",
    rf"{_ASKS} .*\b(?:previously|formerly) (?:{_LED}|\w+ed)\b",
    # who led payments before Tomasz?
    rf"\bwho (?:\w+ )?{_LED}\b.* before (?!{_TIME})(?-i:[A-Z])[\w.\-]*{_END}",
    rf"{_ASKS} .*\bdid .*\b{_STATE}\b.* before (?!{_TIME})(?-i:[A-Z])[\w.\-]*{_END}",
    # what did it use to be called? where I used to live
    rf"{_ASKS} .*\buse to (?:be|have|live|sit|lead|own|prefer|like|cost|belong)\b",
    rf"{_ASKS} (?!.*\b(?:is|are|was|were|be|been|being|get|got) used to\b).*"
    r"\bused to (?:be|have|live|sit|lead|own|prefer|like|cost|belong)\b",
)
# A stretch of time that is over: "who led it in May?", "where did we host it last year?"
_PART: Final = r"(?:(?:at )?(?:the )?(?:start|beginning|middle|end) of)"
_DATE: Final = rf"(?:(?:the )?\d{{1,2}}(?:st|nd|rd|th)? (?:of )?)?{_TIME}|(?:19|20)\d\d"
_THEN: Final = (
    rf"\b(?:in|during|on|as of|until|by|{_PART}) (?:early |late |the )?(?:last )?(?:{_DATE})\b"
    rf"|\blast (?:{_TIME}|week|month|quarter|year|spring|summer|autumn|fall|winter)\b"
    r"|\b\w+ (?:days|weeks|months|years) ago\b|\byesterday\b"
)
_HELD_THEN: Final = rf"{_ASKS} .*\b(?:{_WAS}|{_LED}|did .*\b{_STATE})\b"
_SAID: Final = (
    r"\b(?:say|said|tell|told|talk(?:ed)?|discuss(?:ed)?|mention(?:ed)?|ask(?:ed)?"
    r"|suggest(?:ed)?|recommend(?:ed)?|describe[d]?|explain(?:ed)?)\b(?! me\b)"
)
_ASKED_MAX_CHARS: Final = 300  # a longer prompt says more than one thing


def asks_for_earlier(query: str) -> bool:
    """True if a question is about a value that another has replaced."""
    text = " ".join(query.split())
    if len(text) > _ASKED_MAX_CHARS or re.search(_SAID, text, re.IGNORECASE):
        return False
    return any(pattern.search(text) for pattern in _compiled())


def asks_for_then(query: str) -> bool:
    """True if a question is about what held at a time that is over."""
    text = " ".join(query.split())
    if len(text) > _ASKED_MAX_CHARS or re.search(_SAID, text, re.IGNORECASE):
        return False
    has_time = re.search(_THEN, text, re.IGNORECASE) is not None
    return has_time and re.search(_HELD_THEN, text, re.IGNORECASE) is not None


@cache
def _compiled() -> tuple[re.Pattern[str], ...]:
    """Compiled on first use: compiling is slow, and most questions have none of the words."""
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in _PATTERNS)
