"""Which words are of the moment: they only ask, or order a task that is done once.

Responsible for telling such a text from one that says something to keep. Leaves what is done with
it to the fold and to ``recall.visibility``. Invariants: pure; a text with one sentence that states
something, or that asks for something from now on, is never of the moment; neither is a long text or
a long sentence; the work grows with the length of a text and not faster. An index stores the
answer, so any change to it raises ``index.statements.INDEX_VERSION``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Final

from recollect.index.words import standing

TRANSIENT: Final = "transient"  # in an episode's metadata: what its writer says about it

_TEXT_MAX_CHARS: Final = 300  # a longer text says more than one thing
_SENTENCE_MAX_WORDS: Final = 22  # so does a longer sentence
_FRAGMENT_MAX_WORDS: Final = 8  # "the port of staging" asks, if someone types it
_BEFORE_MAX_WORDS: Final = 4  # before the question itself: a name, or what it is about

# Patterns are compiled when they are needed: compiling is slow, and a hook stores one prompt.
# Without letters; telling case apart takes half the time in a text of a million characters.
_SENTENCE_ENDS: Final = r"(?-i:(?<=[.!?\u2026\u3002\uff01\uff1f\u061f])[\"')\]]*\s+|\n+)"
_CLAUSE_ENDS: Final = r"\s*(?:[,;:(\u2013\u2014]|\s-\s|->|=>?)\s*"
_ASKING_MARKS: Final = ("?", "\uff1f", "\u061f")

# Words before what a sentence is about. "Yes" and "no" are not among them: they answer something.
_OPENING: Final = (
    r"^(?:@\w+|\W|(?:hey|hi|hello|hallo) \w+(?=[,!.])"
    r"|(?:thanks|thank you)(?: a lot| so much| in advance| again)"
    r"|(?:hey|hi|hello|hallo|ok|okay|alright|right|great|perfect|cool|nice|good|wow|thanks"
    r"|thank you|thx|danke|please|pls|bitte|hmm+|oh|ah|so|and|und|but|aber|also|then|now|next|first"
    r"|again|actually|sorry|well|quick question|one more thing|lgtm|looks (?:good|fine|great)"
    r"|(?:it's )?(?:urgent|important)|asap|no rush|just curious|cheers)"
    r"(?:(?=\W)|$)(?: (?-i:[A-Z])\w+(?=[,!.]))?)*"
)
_AUXILIARY: Final = (
    r"(?:is|isn't|are|aren't|was|were|do|does|did|didn't|don't we|can|could|will|would|should|shall"
    r"|must|has|have|had|'?s|'?re)\b"
)
_WH: Final = r"what|which|who|whom|whose|when|where|why|how|if|whether"
# Questions begin so, also with the usual slips. "When I deploy, …", "what I like is …", "had the
# dentist today" and "what a day" state something.
_ASKS: Final = (
    r"(?:w[ha]{1,2}t|wat)(?:'?s\b|\s+(?!(?:i|we|he|she|they|it|a|an)\b)\S)"
    r"|(?:which|wich|whch)\s+(?!(?:is|means|was|are|will)\b)\S"
    r"|(?:who|whom|whose|whos|who's)\s"
    rf"|(?:when|where|wher|why)(?:'?s\b|\s+(?:{_AUXILIARY}|not\b|no\b))"
    rf"|how(?:'?s\b|\s+(?:{_AUXILIARY}|to\b|many|much|long|often|far|old|big|large|fast|quick|high"
    r"|tall|late|early|come\b|about\b))"
    r"|(?:is|are|does)\s+(?!(?:on|in|at|not|\w+ed)\b)\S"
    # "Do it" is an order.
    r"|(?:am|was|were|do(?! it\b)|did|has|have|had|can|could|will|would|should|shall|may)"
    r"(?:n't)?\s+(?:i|we|you|u|he|she|it|they|there|anyone|someone)\b"
    r"|any (?:idea|chance|news)\b|anything (?:new|else)\b"
    rf"|remind me (?:of|about|again|{_WH})\b"
    # "I forgot how to swim" says something about the speaker.
    r"|(?:i was |i'm |just )?wondering (?:what|which|who|when|where|why|how|if|whether)\b"
    r"|i (?:forgot|forget|(?:don'?t|do not|can'?t|cannot) (?:remember|recall))"
    rf" (?:{_WH})\b(?! to\b)"
    # In German, where a clause with the verb at its end has a comma.
    r"|(?:wer|wen|wem|wessen|wo|wohin|woher|wann|warum|wieso|weshalb|wieviele?|wie|welche[rsnm]?)"
    r"\s+(?!(?:besprochen|gesagt|immer|ich|wir)\b)\S"
    r"|(?:kannst|k\u00f6nntest|w\u00fcrdest) du\b"
    r"|was\s+(?:ist|sind|war|hat|haben|kostet|macht|bedeutet|steht|gilt|hei\u00dft|f\u00fcr)\b"
)
# With a question mark, any auxiliary will do.
_ASKS_WITH_MARK: Final = (
    rf"{_ASKS}|(?:which|what|{_AUXILIARY}|may|isn't|wasn't|don't|doesn't|hasn't|haven't|can't"
    r"|couldn't|won't|wouldn't|shouldn't)\s"
)
_ASKS_FOR: Final = (  # the beginning of a note as well, unless it goes on with a verb
    r"(?:the )?(?:names?|number|address|port|passwords?|date|time|price|cost|version|urls?|link"
    r"|path|size|owner|author|status|location|deadline|budget|phone|e-?mail)\s+(?:of|for)\b"
)
# So does "staging port", and "I forgot the staging port".
_LACKS: Final = r"(?:i (?:keep forgetting|forgot|forget|need)|need)\s+"
_BARE: Final = (
    r"(?:(?:the|our|my|your) )?(?:(?!(?:use|change|set|like|have|has|new|no)\b)[^\W\d]+ ){1,2}"
    r"(?:port|password|address|url|link|path|phone number|e-?mail|number|birthday)$"
)
# What the assistant is to do now. Verbs that as often say how things are to be done from now on
# ("use", "keep", "answer", "call") or are notes to oneself ("buy", "book") are not among them.
_TASK: Final = (
    r"(?:fix|run|rerun|re-run|write|rewrite|add|remove|delete|drop|rename|refactor|explain|show"
    r"|make(?! sure)|create|generate|implement|bump|rebuild|compile|revert|undo|redo|retry|convert"
    r"|split|rebase|find|read|print|summari[sz]e|translate|draft|send|tell|give|install|uninstall|clean"
    r"|reformat|lint|debug|deploy|redeploy|describe|compare|calculate|compute|continue|proceed"
    r"|go (?:on|ahead|back)|restart|finish|simplify|extract|inline|suggest|recommend|propose"
    r"|brainstorm|investigate|analy[sz]e|improve|optimi[sz]e|apply|scaffold|migrate|verify"
    r"|double-check|figure out|work out|walk me|squash|stash|amend|cherry-pick|get rid of"
    r"|do (?:it|that|this|the same)|(?:the )?same for|merge \S+ into"
    r"|(?:zeig|schreib|erkl\u00e4r|f\u00fcg|l\u00f6sch|pr\u00fcf|korrigier|\u00fcbersetz|mach|such"
    r"|benenn|\u00e4nder|beheb|reparier|entfern|f\u00fchr|erstell|fass)e?|gib)\b"
    # These are nouns too, or say how things are done: what follows must be something at hand.
    r"|(?:list|update|upgrade|build|test|check|review|commit|push|open|reopen|close|move|merge"
    r"|search|look|help|format|document|count|try|start|stop|replace|change|sort|see|set up|wire up"
    r"|hook up|speed up|clean up|tidy up|port|tag|release|publish|paste|copy|download|fetch|pull"
    r"|log|mock|stub|wrap|plan|turn|handle|reduce|increase|validate|cache|use)"
    r"(?=\W*$|\s+(?:the|a|an|this|that|these|those|it|them|me|us|all|my|our|your|for|at|into|if"
    r"|whether|how|why|what|which|again|and|then|here|everything|over|now|please|pls|up|to|die|das"
    r"|den|der|alle)\b)"
)
_REQUEST: Final = (
    r"(?:(?:can|could|would|will) (?:you|u)|i (?:want|need) you to|i(?:'d| would) like you to)"
    r"(?: (?:please|pls|just|also|now))*"
)
_REQUEST_IN_OTHERS: Final = (
    r"(?:kannst|k\u00f6nntest|w\u00fcrdest) du(?: (?:bitte|mal))*"
    r"|(?:peux|pourrais|veux)-tu|(?:pouvez|pourriez|voulez)-vous"
)
_BEFORE_TASK: Final = (
    rf"(?:{_REQUEST} |let me |let's |lets "
    r"|i (?:need|have|want) to |i'd like to |we (?:need|have) to |you can |just )?"
)
_ORDERS: Final = rf"{_BEFORE_TASK}(?:{_TASK})"
# "I want to see Rome" and "let's change the plan" say something about people: of one's own tasks
# only what is done to code is of the moment. "Use a list here" is, "use lists" is not.
_OWN: Final = r"(?:i|i'd|we|let's|lets)\b"
_OF_CODE: Final = (
    r"^.{0,14}\b(?:fix|run|rerun|refactor|debug|test|commit|push|lint|compile|rebase|merge|deploy"
    r"|check|continue|go on|go ahead|try|start|bump|rename)\b"
)
# So is "write the tests first", but "write tests first" is a way to work.
_MANY: Final = r"\w+\s+(?!this\b|us\b)\w+s\s+(?:first|in|with|before|after|as|to)\b"
_USE: Final = r"use\b"
_HERE: Final = r"\b(?:here|instead|for this|in this \w+)\W*$"

# What makes a sentence worth keeping, however it begins.
_STANDING: Final = (
    r"\b(?:always|never|ever again|from now on|going forward|by default|every time|each time"
    r"|whenever|in (?:the )?future|as a rule|unless|prefer(?:red|ably)?|no longer|any ?more"
    r"|instead of|(?:stop|start|mind) using|must|policy|convention|every"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days"
    r"|immer|nie|niemals|ab jetzt|ab sofort|k\u00fcnftig|in zukunft|grunds\u00e4tzlich"
    r"|nicht mehr)\b"
    r"|^\W*(?:please |pls |bitte )*(?:don'?t|do not)\b(?! (?:we|you|i|they)\b)"
)
_TELLS: Final = (
    r"\b(?:remember (?:that|this)|note (?:that|down)|keep in mind|bear in mind|fyi|btw|by the way"
    r"|know that|did you know|tell you that|told you that|mention(?:ed)? that|because"
    r"|considering|given that|i've|i'll|i'm(?! wondering)|we've|i am|i was(?! wondering)|i had"
    r"|i have been|since (?:we|i|the|it|my|our)|now that|merk dir|denk dran|merken|weil)\b"
    r"|^\W*(?:(?:can|could|will|would) you )?(?:please |pls )*(?:remember|note)\b"
    r"(?! (?:what|which|who|when|where|why|how|if|about)\b)"
)
_ALL: Final = r"\b(?:all|any|each|alle)\b"
_TASK_OF_ALL: Final = (
    r"\b(?:run|rerun|show|list|fix|commit|push|find|print|summari[sz]e|delete|remove|close|see"
    r"|explain|test|check)\b"
)
# What makes a clause a statement, unless it depends on another clause.
_VERB: Final = (
    r"\b(?:is|are|was|were|am|has|have|had|will|runs|uses|used|lives?|moved|moves|changed|became"
    r"|becomes|needs?|wants?|likes?|works?|went|got|goes|takes|costs?|starts|ends|leads?|ist|sind"
    r"|war|hat|l\u00e4uft|hei\u00dft)\b\W*\w"
)
_DEPENDS: Final = (
    r"\b(?:that|which|who|what|so|if|when|where|why|how|whether|until|while|as|after|before|than"
    r"|it|they|we|you|i)\b"
)
_STATES: Final = (
    r"(?:i|we|he|she|it|they|my|our|his|her|their|there|ich|wir|mein|unser)\b\W*\w+\W+\w"
    r"|(?:that|this|it|he|she|there)'s\b|(?:i|we|they|you)'(?:m|ve|re|ll)\b"
    r"|(?!(?:that|which|who|so|if|when|where|whether|to|for|with|and|or|in|on|at|by|as|like|than"
    rf"|from|using|without)\b).*{_VERB}"
)
# A sentence with a question mark that states, and then asks whether that is so.
_SAID_FIRST: Final = (
    r"(?:i|we|he|she|they|it|that|this|ich|wir)\b\W*\w+\W+\w|(?:i|we|they|you|it|that)'\w"
    rf"|(?:\S+\s+){{1,3}}?{_VERB}"
)


def is_transient(text: str, role: str) -> bool:
    """True if what someone said only asks, or only orders something that is done once.

    What an assistant says in the imperative is advice, so of its texts only questions are.
    """
    if len(text) > _TEXT_MAX_CHARS or role not in ("user", "assistant"):
        return False
    has_asked = False
    for _, said in _sentences(text):
        if not said:
            continue  # a greeting, or thanks
        if _keeps(said) or standing.tells(said):
            return False
        if not _asks(said) and (role != "user" or not _orders(said)):
            return False
        if role == "user" and _asks_to_behave(said):
            return False
        has_asked = True
    return has_asked


def without_questions(text: str) -> str:
    """A text without the sentences that only ask; "can you move it to nine?" asks for something."""
    return "\n".join(
        sentence
        for sentence, said in _sentences(text)
        if not said or not _only_asks(said) or _begins(_REQUEST, said)
    )


def questions_in(text: str) -> list[str]:
    """What a text asks, sentence by sentence, without a greeting before it."""
    return [said for _, said in _sentences(text) if said and _only_asks(said)]


def _sentences(text: str) -> Iterator[tuple[str, str]]:
    """Each sentence as it stands, and without what opens it, with single blanks.

    The patterns after this one see no run of blanks and nothing long, so the work grows with the
    length of the text.
    """
    for sentence in _re(_SENTENCE_ENDS).split(text.replace("\u2019", "'")):
        said = " ".join(sentence.split())
        if len(said) <= _TEXT_MAX_CHARS:
            said = _re(_OPENING).sub("", said, 1).strip()
        yield sentence, said


def _only_asks(said: str) -> bool:
    return not _keeps(said) and _asks(said)


def _asks(sentence: str) -> bool:
    """True for a question, with or without its mark."""
    first, *others = _clauses(sentence)
    if sentence.endswith(_ASKING_MARKS):
        is_question = _begins(_ASKS_WITH_MARK, first) or _begins(_ORDERS, first)
        if not is_question and (not others or len(first.split()) <= _BEFORE_MAX_WORDS):
            is_question = not _begins(_SAID_FIRST, first)
    elif _begins(_ASKS, first):
        is_question = ":" not in sentence
    else:
        is_short = not others and len(sentence.split()) <= _FRAGMENT_MAX_WORDS
        bare = _re(_LACKS).sub("", first.rstrip(".!"), 1)
        is_named = _begins(_ASKS_FOR, first) or _begins(_BARE, bare)
        is_question = is_short and is_named and not _has_verb(bare)
    return is_question and not any(map(_is_statement, others))


def _orders(sentence: str) -> bool:
    """True for a task that is done once."""
    if standing.lasts(_re(rf"^{_BEFORE_TASK}").sub("", sentence, 1)):
        return False
    first, *others = _clauses(sentence)
    task = _re(_ORDERS).match(first)
    if task is None or _has_verb(first, task.end()) or any(map(_is_statement, others)):
        return False
    if _begins(_OWN, first) and not _begins(_REQUEST, first):
        return _begins(_OF_CODE, first)
    if _begins(_MANY, first):
        return False
    if _begins(_USE, first):
        return _re(_HERE).search(first) is not None
    return not _re(_ALL).search(first) or _re(_TASK_OF_ALL).search(first) is not None


def _asks_to_behave(sentence: str) -> bool:
    """True for "can you use tabs?": a request that is not clearly for something at hand."""
    asked = _re(rf"(?:{_REQUEST}|{_REQUEST_IN_OTHERS})\s+").match(sentence)
    if asked is None:
        return False
    wanted = sentence[asked.end() :].rstrip(" ?.!")
    if standing.behaves(wanted) or standing.lasts(wanted):
        return True
    return not _begins(_TASK, wanted) and not standing.points(wanted)


def _keeps(sentence: str) -> bool:
    """True if a sentence tells something on the way, or asks for something from now on."""
    if (
        len(sentence) > _TEXT_MAX_CHARS
        or len(sentence.split()) > _SENTENCE_MAX_WORDS
        or _re(_TELLS).search(sentence)
    ):
        return True
    if _re(_STANDING).search(sentence) is None:
        return False
    plain = _re(_OPENING).sub("", sentence, 1)
    is_asked = sentence.endswith(_ASKING_MARKS) or _begins(_ASKS, plain)
    return not is_asked or _begins(_REQUEST, plain)  # "can you always answer in German?"


def _is_statement(clause: str) -> bool:
    plain = _re(_OPENING).sub("", clause, 1)
    if _begins(_ASKS, plain) or _begins(_ORDERS, plain):
        return False
    return _begins(_STATES, plain)


def _has_verb(clause: str, start: int = 0) -> bool:
    """True if a clause that begins like a task or a thing goes on as a statement."""
    found = _re(_VERB).search(clause, start)
    return found is not None and not _re(_DEPENDS).search(clause, start, found.start())


def _clauses(sentence: str) -> list[str]:
    return [piece for piece in _re(_CLAUSE_ENDS).split(sentence) if piece] or [sentence]


def _begins(pattern: str, text: str) -> bool:
    return _re(pattern).match(text) is not None


@cache
def _re(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)
