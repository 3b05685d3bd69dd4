"""Which orders are about how things are done from now on, and which questions tell something.

Responsible for what keeps such a sentence, however it begins. Leaves recognizing orders and
questions to ``index.words.transient``. Invariants: pure; in doubt a sentence is kept: a question
that comes back is a nuisance, and a rule that is not recalled is a loss. An index stores what
follows, so any change raises ``index.statements.INDEX_VERSION``.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final

_MANNER_MIN_WORDS: Final = (
    3  # "commit small changes" is a way to work, "commit changes" may be done
)

_MONTHS: Final = (
    r"january|february|march|april|june|july|august|september|october|november|december"
    r"|januar|februar|m\u00e4rz|mai|juni|juli|oktober|dezember"
)
_LANGUAGES: Final = (
    r"english|german|french|spanish|italian|portuguese|dutch|polish|japanese|chinese"
    r"|englisch|deutsch|franz\u00f6sisch|spanisch|italienisch|anglais|fran\u00e7ais|allemand"
)
# What an order for once hardly ever says.
_LASTING: Final = (
    r"\b(?:not|only|without|before|after|until|till|once|whenever|when|each|too|also"
    r"|rather than|instead of|over \w+$|at most|at least|no more than|under \w+ \w+$|as soon as"
    r"|per default|the way (?:we|i|you)|like (?:we|i|you)|first\b.*\bthen"
    r"|(?:to|for|in|on) everything|everywhere|nothing"
    r"|in (?:this|the|our|my) (?:repo|repository|project|codebase|chat|conversation|session)"
    r"|nur|nicht|nichts|kein\w*|statt|anstatt|ohne|bevor|vor dem|nach jede\w|jede[mnrs]?|sobald"
    r"|wenn|bis|seulement|jamais|toujours|sans|avant|apr\u00e8s|chaque|pas)\b"
    r"|(?<!check )(?<!see )(?<!me )(?<!know )(?<!verify )(?<!test )\bif\b"
    rf"|\b(?:by|in|on|until|next|am|im|bis) (?:the end\b|(?:{_MONTHS})\b|may \d"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)day|week\b|month\b|year\b)"
    rf"|\b(?:{_MONTHS}) \d|\d\.? (?:{_MONTHS})\b"
)
# A value: "the code: 4471", a flag, a placeholder, an address.
_VALUE: Final = r":\s*\S*\d|\d{4}|\d-\d{3}|\w@\w|\s--?[a-z]|<\w+>"
_ASKS_INSIDE: Final = r"\b(?:why|what|which|how|where|who|warum|was|welche\w?|wie|wo)\b"
# What is at hand: an order that points at it is done once.
_HERE: Final = (
    r"\b(?:this|that|these|those|it|them|here|again|now|dies\w*|es|ihn|jetzt|nochmal|cette|ceci)\b"
)
_AT_HAND: Final = (
    r"(?:^|\W)(?:the|a|an(?!\W*$)|this|that|these|those|it|them|me|us|my|our|your|all|what|which"
    r"|why|how|who|where|if|whether|again|here|now|for|some|more|another|other|last|latest|next"
    r"|failing|failed|unused|dead|missing|remaining|and|then|please|everything|rest"
    r"|die|der|das|den|dem|des|dies\w*|eine?[mnrs]?|mir|uns|es|mal|noch\w*|alle\w?|weiter"
    r"|meine?[mnrs]?|unsere?[mnrs]?|le|la|les|ce|cette|un|une|mon|mes|moi)\b|\W(?:l'|-moi)"
    r"|\d|[/._(){}<>`]\w"
)
# "In tests", "to commit messages": not these ones, but all there will be.
_OF_MANY: Final = (
    r"\b(?:in|to|for|on|under|from|of|with) (?!(?:the|this|that|these|those|my|our|your|its|a|an"
    r"|use|make|get|be|have|do|run|fix|see|avoid)\b)(?:\w+ )?\w*[^\W\dsiu]s\b"
)
_IN_LANGUAGE: Final = rf"\b(?:in|into|auf|en) (?:\w+ )?(?:{_LANGUAGES})\b"
_TO_NAME: Final = r"\b(?:to|with|via|from|for) (?-i:[A-Z][a-z]+)"
_NAMING: Final = r"\b(?:re)?name\b.*\bto\b|\bbenenn"
_MANNER: Final = r"\b(?:\w{3,}ly|kurz|knapp|kritisch|ausf\u00fchrlich)\W*$"
_ONE: Final = r"\b(?:a|an|eine?[mnrs]?|une?)\b"
# How an assistant writes and works, with no word before it that says which ones.
_STYLE: Final = (
    r"(?<!the )(?<!these )(?<!those )(?<!my )(?<!your )(?<!last )(?<!more )"
    r"\b(?:answers|replies|responses|explanations|summaries|emojis|tabs|spaces|docstrings"
    r"|type hints"
    r"|antworten)\b"
)
# Requests about how to behave, not for something: the verb, in German and French the infinitive.
_BEHAVE: Final = (
    r"(?:use|answer|reply|respond|keep|call me|be|stay|speak|talk|address|stick|spell|avoid|stop"
    r"|prefer|name)\b(?! (?:the|a|an|this|that|these|those|it|my|our)\b)"
    r"|.*\b(?:nennen|duzen|siezen|antworten|benutzen|verwenden|nutzen|vermeiden|sprechen"
    r"|tutoyer|vouvoyer|r\u00e9pondre|utiliser|parler|appeler|\u00e9viter)\b"
)
# Questions that tell: "do you know my daughter starts school?".
_FINITE: Final = (
    r"(?:is|are|was|were|am|has|have|had|will|'s|'m|'re|\w+ed|got|left|went|moved|starts?|runs?|lives?"
    r"|works?|needs?|wants?|likes?|goes|takes|costs?|became|began|came|died|lost|won|bought|sold)"
)
_KNOWING: Final = (
    r"(?:do|did|have|had) you (?:already )?(?:know|knew|see|seen|hear|heard|notice|noticed|realise"
    r"|realize)|(?:did|have) i (?:already )?(?:tell|told|mention|mentioned)(?: to)?(?: you)?"
)
_TELLING: Final = (
    rf"(?:{_KNOWING}) (?:that\b|(?!(?:what|which|who|whose|when|where|why|how|if|whether|about|of"
    rf"|any|anything)\b).*\b{_FINITE}\b\W*\w)"
    r"|(?:wei\u00dft|wusstest|hast|siehst) du\b.*\bdass\b"
    r"|(?:sais-tu|savais-tu|tu sais|tu savais|as-tu vu) qu"
    r"|(?:is|would) it (?:be )?(?:ok|okay|fine|alright|all right|possible|cool|good)"
    r" (?:if|for|to|that)\b"
    r"|can we (?:agree|use|keep|call|stick|go with|switch|move to)\b"
    r"|ist es (?:ok|okay|in ordnung),? wenn\b"
)


def lasts(order: str) -> bool:
    """True for an order about how something is done from now on, or one with something to keep."""
    if _finds(_LASTING, order) or (_finds(_VALUE, order) and not _finds(_ASKS_INSIDE, order)):
        return True
    if _finds(_STYLE, order) and not _finds(_HERE, order):
        return True
    return _is_of_many(order) or (len(order.split()) >= _MANNER_MIN_WORDS and not points(order))


def _is_of_many(order: str) -> bool:
    """True for an order about all of a kind, or about its manner, or with a name to remember."""
    if _finds(_HERE, order) or _finds(_ASKS_INSIDE, order):
        return False
    if _finds(_IN_LANGUAGE, order):
        return not _finds(_ONE, order)
    return any(_finds(each, order) for each in (_OF_MANY, _TO_NAME, _NAMING, _MANNER))


def points(order: str) -> bool:
    """True for an order that points at something at hand."""
    return _finds(_AT_HAND, order)


def behaves(request: str) -> bool:
    """True for what is asked of an assistant's manner, without the words that ask for it."""
    return _re(_BEHAVE).match(request) is not None


def tells(question: str) -> bool:
    """True for a question that tells something on the way, or asks to agree to it."""
    return _re(_TELLING).match(question) is not None


def _finds(pattern: str, text: str) -> bool:
    return _re(pattern).search(text) is not None


@cache
def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
