"""What one memory contributes at a moment of an assistant's session, and packing it.

Responsible for choosing the texts worth showing. Leaves choosing the memories to
``assistants.prompts``, finding to ``finding.search`` and packing to ``recall``. Invariant:
unverified text is never included.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING, Final, NamedTuple

from recollect.finding import search
from recollect.finding.candidates import Question, understood
from recollect.index.reads import Reads
from recollect.index.statements import NOW
from recollect.index.words.text import STOP_WORDS, token_list, words
from recollect.model import limits
from recollect.model.presets import Template
from recollect.model.rules import at_least
from recollect.model.values import Hit
from recollect.recall.pack import pack
from recollect.recall.presets import hit_of
from recollect.recall.rank import Wish, showing

if TYPE_CHECKING:
    from recollect.compose import Embedders
    from recollect.store.port import Searchable

HITS_MAX_COUNT: Final = 25
# Many prompts are instructions about code, of which memory knows nothing. So something is handed
# over only if the best hit is this relevant, and then also what is not far behind it.
_SURE_MIN: Final = 0.72
_WITH_IT_MIN: Final = 0.10
_QUESTIONS_MAX_COUNT: Final = 2  # of a prompt that are asked alone
_NEWEST_MAX_COUNT: Final = 400  # records among which the most reinforced ones are chosen
# A denial says something new, and so does whom something is about: "not", "I'm", "my".
_SAYING_LITTLE: Final = STOP_WORDS.difference(
    "no not nor i we my our am is are was were m re ve have has had".split()
).union("please pls want know tell show give get let remind reminder bitte mir".split())
_ASKING_WHETHER: Final = frozenset(
    "is are am was were do does did has have had should must ist sind hat habe muss darf".split()
)


class Viewer(NamedTuple):
    """When, and for whom, a memory is read."""

    now: str
    user: str | None
    session: str | None = None  # whose episodes are left out


def about(reads: Reads, prompt: str, viewer: Viewer) -> list[Hit]:
    """What memory knows about a prompt; empty if it is not sure. Full text only, for speed.

    A prompt may say more than it asks: "what port was it again? I need to fix the test".
    """
    said = _said_in(prompt)
    found = _sure_of(reads, _parsed(reads, prompt), viewer, said)
    if found:
        return found
    from recollect.index.words.transient import questions_in  # most prompts end before this

    for asked in questions_in(prompt)[:_QUESTIONS_MAX_COUNT]:
        found = found or _sure_of(reads, _parsed(reads, asked), viewer, said)
    return found


def _parsed(reads: Reads, asked: str) -> Question:
    return Question(asked, understood(lambda: reads, asked))


def near(
    space: Searchable, embedders: Embedders | None, asked: list[str], viewer: Viewer
) -> list[Hit]:
    """The same by meaning: a question in other words may share none with its answer.

    Only with vectors that cost next to nothing, and with those that are there. What is near in
    meaning is often about something else, so only a strong hit counts.
    """
    from recollect.finding.questions import at_once

    questions = at_once(space, asked[:_QUESTIONS_MAX_COUNT], embedders)
    with space.reading() as reads:
        for question in questions:
            found = _sure_of(reads, question, viewer, _said_in(question.query))
            if found and found[0].strength == "strong":
                return found
    return []


def _sure_of(reads: Reads, question: Question, viewer: Viewer, said: frozenset[str]) -> list[Hit]:
    found = search.trusted(reads, question, _wish("any", viewer), HITS_MAX_COUNT).telling
    if viewer.session is not None:
        found = [hit for hit in found if _session_of(hit) != viewer.session]
    found = _without_repeats(found, question, said)
    if not found or not (found[0].relevance >= _SURE_MIN or _says_all(question, found[0])):
        return []
    # A turn that is sure and settled hands over to the record that settles it.
    return _without_settled(
        reads, [hit for hit in found if hit.relevance >= _WITH_IT_MIN], question
    )


def _without_repeats(hits: list[Hit], question: Question, said: frozenset[str]) -> list[Hit]:
    """These hits without earlier prompts that say nothing beyond the present one.

    A prompt beside one of them in the same session was found because of it, unless it has half of
    the terms itself.
    """
    again = {hit.id for hit in hits if _is_prompt(hit) and _telling(hit.text) <= said}
    sessions = {_session_of(hit) for hit in hits if hit.id in again}
    terms = frozenset(question.asked.terms)
    return [
        hit
        for hit in hits
        if hit.id not in again
        and not (
            _is_prompt(hit)
            and _session_of(hit) in sessions
            and 2 * len(terms.intersection(token_list(hit.text))) < len(terms)
        )
    ]


def _without_settled(reads: Reads, hits: list[Hit], question: Question) -> list[Hit]:
    """These hits without what was said on the way to a record that is among them.

    A question about an earlier value wants it.
    """
    records = [hit for hit in hits if hit.record is not None]
    turns = [hit for hit in hits if hit.episode is not None and hit.trust == "person"]
    if len(records) == len(hits) or any(hit.until is not None for hit in records):
        return hits
    terms = frozenset(question.asked.terms)
    has = [(record, frozenset(token_list(record.text))) for record in records]
    return [
        hit for hit in hits if hit.episode is None or not _is_settled(reads, hit, terms, has, turns)
    ]


def _is_settled(
    reads: Reads,
    hit: Hit,
    terms: frozenset[str],
    records: list[tuple[Hit, frozenset[str]]],
    turns: list[Hit],
) -> bool:
    """True if a turn of a talk adds nothing to one of the records.

    An assistant's words, a prompt that asks, and a value that was replaced: if the record has every
    term of the question that they have; of an assistant's words a later record half of these, so
    that a suggestion does not outlive the decision. What a person states: only if a later record
    has every word of it but numbers, because nothing else may hold it.
    """
    turn, said = hit.episode, frozenset(token_list(hit.text[: limits.QUESTION_MAX_CHARS]))
    if turn is None or turn.role != "user":
        asked = terms & said
        return any(
            2 * len(asked & has) >= len(asked) * (1 if hit.at <= one.at else 2)
            for one, has in records
        )
    asks = _asks(hit.text)
    if asks or hit.changed:
        only = asks and not hit.changed and _only_asks(hit.text)
        return any(
            terms & said <= has
            for one, has in records
            if _may_settle(reads, one, hit, turns if asks else [], asks=only)
        )
    telling = frozenset(token_list(" ".join(_telling(hit.text))))
    tells = {term for term in telling if not term.isdigit()}
    is_whole = len(hit.text) <= limits.QUESTION_MAX_CHARS
    return is_whole and any(
        tells <= has for one, has in records if _may_settle(reads, one, hit, [])
    )


def _may_settle(
    reads: Reads, record: Hit, hit: Hit, turns: list[Hit], *, asks: bool = False
) -> bool:
    """True for a later record with at least the trust of what was said, or one that claims no more
    than that and what a person said later: in its evidence or, for a prompt that also asks, in
    ``turns``. Any later record settles a question.
    """
    if record.at < hit.at:
        return False
    if asks or at_least(record.trust, hit.trust):
        return True
    later = (turn.text for turn in turns if turn.at > hit.at)
    return any(
        _says_all_new(record.text, hit.text, text)
        for text in chain(later, _quoted_later(reads, record, hit))
    )


def _says_all_new(record: str, before: str, text: str) -> bool:
    """True if a text claims all that a record claims beyond what was said before."""
    from recollect.index.words.claims import claims_of
    from recollect.index.words.text import telling_tokens

    telling, claims, had = telling_tokens(record), claims_of(record), claims_of(before)
    so, not_so = (claims.so & telling) - had.so, (claims.not_so & telling) - had.not_so
    said = claims_of(text[: limits.QUESTION_MAX_CHARS])
    return bool(so or not_so) and so <= said.so and not_so <= said.not_so


def _quoted_later(reads: Reads, record: Hit, hit: Hit) -> Iterator[str]:
    """The evidence of a record that a person gave later; an episode's role does not show that."""
    for source in record.sources:
        turn = reads.episode(source.id) if source.said_at >= hit.at else None
        if turn is not None and turn.trust == "person":
            yield turn.text


def _only_asks(text: str) -> bool:
    """True if nothing is left of a text without its questions."""
    from recollect.index.words.transient import without_questions

    is_whole = len(text) <= limits.QUESTION_MAX_CHARS
    return is_whole and not _telling(without_questions(text))


def _asks(text: str) -> bool:
    from recollect.index.words.transient import questions_in

    return "?" in text and bool(questions_in(text[: limits.QUESTION_MAX_CHARS]))


def _is_prompt(hit: Hit) -> bool:
    """True for what a person typed in a session, of no more than a prompt's length."""
    turn = hit.episode
    is_short = len(hit.text) <= limits.QUESTION_MAX_CHARS
    return turn is not None and turn.role == "user" and bool(turn.scope.session) and is_short


def _session_of(hit: Hit) -> str | None:
    return None if hit.episode is None else hit.episode.scope.session


def _telling(prompt: str) -> frozenset[str]:
    """The words by which a prompt says something new."""
    return frozenset(word for word in words(prompt) if word not in _SAYING_LITTLE)


def _said_in(prompt: str) -> frozenset[str]:
    """The same of the present prompt; none if it asks for its own words to be confirmed.

    "Do I have a nut allergy?" wants "I have a nut allergy" back.
    """
    found = words(prompt)
    return frozenset() if found[:1] and found[0] in _ASKING_WHETHER else _telling(prompt)


def _says_all(question: Question, hit: Hit) -> bool:
    """True if a hit has every word of a prompt of several: where many do, none stands out."""
    terms = question.asked.terms
    said = token_list(hit.text[: limits.QUESTION_MAX_CHARS])  # a longer text answers nothing alone
    return len(terms) > 1 and set(terms) <= set(said)


def in_general(reads: Reads, viewer: Viewer) -> list[Hit]:
    """Reinforced records first, the most reinforced before the others; then the newest."""
    wish = _wish("record", viewer)
    rows = search.listing(reads, wish, search.first_page(NOW), _NEWEST_MAX_COUNT)
    trusted = [row for row in showing(rows, wish) if row.trust != "unverified"]
    ordered = sorted(trusted, key=lambda row: -row.reinforcement_count)  # stable: newest first
    return [hit_of(row) for row in ordered[:HITS_MAX_COUNT]]


def packed(hits: list[Hit], tokens: int) -> str:
    """These hits, packed for a prompt within a token budget."""
    return pack([], hits, Template(), tokens).text


def _wish(unit: str, viewer: Viewer) -> Wish:
    return Wish(
        unit=unit,
        user=viewer.user,
        filter=None,
        include=frozenset(),
        position=NOW,
        now=viewer.now,
        valid_at=viewer.now,
        min_relevance=None,
    )
