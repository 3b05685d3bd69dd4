"""Packing hits into a prompt under a token budget.

Responsible for the text of a context and for counting its tokens. Leaves the hits and their order
to ``recall.rank`` and ``recall.presets``. Invariants: the text never costs more than the budget;
everything guaranteed is in it; it is enclosed in marks that its content cannot imitate, not even
with look-alikes; it contains no invisible characters; everything left out is listed with a reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from recollect.errors import LimitExceeded
from recollect.index.words.text import tokens
from recollect.model import limits
from recollect.model.presets import Template, filled, without_marks
from recollect.model.reasons import Omission, sentence
from recollect.model.values import Hit, Omitted, Record
from recollect.model.visible import HIDDEN, note, shown

Counter = Callable[[str], int]
Against = Mapping[str, Sequence[str]]  # id -> the ids of records that contradict it

OPENING: Final = "<recollect>"
CLOSING: Final = "</recollect>"
# For a budget into which no line of the preset fits; without an intro.
BARE: Final = Template(record="- {text}", episode='- {role} said: "{text}"')
ERASED: Final = "erased"  # instead of an id that was erased
_HIT_MIN_TOKENS: Final = 16  # hardly any hit costs less
_CHANGED_MAX_CHARS: Final = 120  # of a text that replaced another
_PIECE_MAX_CHARS: Final = 5
_LOOKED_AT: Final = 32  # characters for each token of a budget
_PIECE: Final = re.compile(rb"[A-Za-z]{1,5}|[0-9]{1,3}")
_SIGNS: Final = bytes(
    code for code in range(128) if not (chr(code).isalnum() or chr(code).isspace())
)
_OTHER: Final = bytes(code for code in range(128) if not chr(code).isalnum())
_NOT_SHOWN: Final = bytes(code for code in range(128) if not 32 < code < 127)
_UNSEEN: Final = rf"[{HIDDEN}\s]+"
# A run of signs that are not seen, from one on that never belongs to the spelling of a word.
_MARKED: Final = rf"[\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]{_UNSEEN[:-1]}*"
_MARK_MIN_TOKENS: Final = 5
_WIDE_BLANKS: Final = (
    "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029"
    "\u202f\u205f\u3000"
)


class Packed(msgspec.Struct, frozen=True):
    """A text, what was packed, what was left out and why, and its number of tokens."""

    text: str
    hits: tuple[Hit, ...]
    omitted: tuple[Omitted, ...]
    tokens: int
    notes: tuple[str, ...] = ()  # characters that are shown differently from how they are stored


def count_tokens(text: str) -> int:
    """A conservative estimate of a language model's tokens, without tables or network.

    Five letters, three digits or one other character make a token; one beyond ASCII makes two.
    """
    plain = text.encode("ascii", "replace")
    wide = len(text) - len(text.encode("ascii", "ignore"))
    signs = len(plain) - len(plain.translate(None, _SIGNS)) + wide  # a wide one is replaced by one
    blanks = sum(map(text.count, _WIDE_BLANKS)) if wide else 0
    return len(_PIECE.findall(plain)) + signs - 2 * blanks


def hits_for(budget: int) -> int:
    """How many hits to look at for a context: more than fit, and no more than can matter."""
    least, most = limits.CONTEXT_MIN_HITS, limits.CONTEXT_MAX_HITS
    return min(max(budget // _HIT_MIN_TOKENS, least), most)


def counter_name(counter: Counter) -> str:
    """The name of a counter in a receipt."""
    if counter is count_tokens:
        return "estimate"
    kind = counter if hasattr(counter, "__qualname__") else type(counter)
    return f"{kind.__module__}.{kind.__qualname__}"[-200:]


def pack(
    guaranteed: Sequence[Hit],
    ranked: Sequence[Hit],
    template: Template,
    budget: int,
    counter: Counter = count_tokens,
    against: Against | None = None,
) -> Packed:
    """Packs everything guaranteed, then the other hits that fit and add something new.

    If nothing fits, lines that have the text alone may: rather one line than none.
    """
    packing = _Packing(template, counter, against or {})
    for hit in guaranteed:
        packing.add(hit)
    needed = packing.count() if guaranteed else 0
    if needed > budget:
        raise LimitExceeded(
            f"the guaranteed records need {needed} tokens, and the budget is {budget}",
            hint=f"allow at least {needed} tokens, or remove guaranteed tags",
        )
    packing.fill(ranked, budget)
    # With some counters a whole text costs more than the sum of its parts.
    while len(packing.hits) > len(guaranteed) and packing.count() > budget:
        packing.omit(packing.take_back(), "budget")
    if not packing.hits and counter is count_tokens:  # of another one a replay knows nothing
        packing = _Packing(BARE, counter, against or {})
        packing.fill(ranked, budget)
    return packing.packed()


def was_bare(text: str, counter: str, budget: int) -> bool:
    """True if a context cannot have had this text, so that its lines had no more than texts."""
    return counter == counter_name(count_tokens) and count_tokens(text) > budget


class _Packing:
    """A text that grows line by line."""

    def __init__(self, template: Template, counter: Counter, against: Against) -> None:
        self._template = template
        self._counter = counter
        self._against = against
        self._lines: list[str] = []
        self._said: dict[str, str] = {}  # normalised text -> the id that has it
        self._evidence: dict[str, str] = {}  # episode -> the packed record that rests on it
        self._omitted: list[Omitted] = []
        self._count: tuple[int, int] | None = None  # the lines that were counted, and their tokens
        self.hits: list[Hit] = []

    def fill(self, ranked: Sequence[Hit], budget: int) -> None:
        """Adds the hits that fit, in order; a short one may follow one that was too long."""
        spent = self.count() if self.hits else self._counter(self._text([]))
        for hit in ranked:
            is_too_long = len(hit.text) > budget and self._least(hit, budget) > budget
            words = None if is_too_long else tokens(hit.text)  # of one that cannot fit, not needed
            against = self._contradicting(hit)
            instead = self._instead(hit, words, against)
            if instead is not None:
                self.omit(hit, *instead)
                continue
            if words is None or spent + self._least(hit, budget) > budget:  # most have no line
                self.omit(hit, "budget")
                continue
            line = line_of(hit, self._template, against)
            cost = self._counter(line + "\n")
            if spent + cost > budget:
                self.omit(hit, "budget")
            else:
                spent += cost
                self._add(hit, line, words)

    def _least(self, hit: Hit, budget: int) -> int:
        """A number of tokens that its line costs at least; more than the budget is not counted.

        Every line has the text. Of letters and digits, which no line changes, at most five make a
        token; another sign is one, and one beyond ASCII two. Blanks and what may belong to the
        spelling do not count: a line may have fewer of them. Other signs that are not seen are
        shown as a mark, "[U+200B]", one for each run. Nothing is known of another counter.
        """
        if self._counter is not count_tokens:
            return 0
        text = hit.text[: _LOOKED_AT * (budget + 1)]
        plain = text.encode("ascii", "ignore").translate(None, _NOT_SHOWN)
        letters = len(plain.translate(None, _OTHER))
        least = letters // _PIECE_MAX_CHARS + len(plain) - letters
        if text.isascii():
            return least
        seen = re.sub(_UNSEEN, "", text)
        wide = len(seen) - len(seen.encode("ascii", "ignore"))
        return least + 2 * wide + _MARK_MIN_TOKENS * len(re.findall(_MARKED, text))

    def add(self, hit: Hit) -> None:
        """Adds a line."""
        line = line_of(hit, self._template, self._contradicting(hit))
        self._add(hit, line, tokens(hit.text))

    def _add(self, hit: Hit, line: str, words: str) -> None:
        self.hits.append(hit)
        self._lines.append(line)
        self._said.setdefault(words, hit.id)
        for source in hit.sources:
            self._evidence.setdefault(source.id, hit.id)

    def take_back(self) -> Hit:
        """Removes the last line."""
        self._lines.pop()
        return self.hits.pop()

    def omit(self, hit: Hit, reason: Omission, by: str | None = None) -> None:
        """Names something that is not in the text, and what is there in its place."""
        detail = sentence(reason, by=by)
        others = () if by is None else (by,)
        self._omitted.append(Omitted(id=hit.id, reason=reason, detail=detail, by=others))

    def count(self) -> int:
        """The number of tokens of the text so far."""
        if self._count is None or self._count[0] != len(self._lines):
            self._count = len(self._lines), self._counter(self._text(self._lines))
        return self._count[1]

    def packed(self) -> Packed:
        """The result; without a line the text is empty."""
        omitted = tuple(self._omitted)
        if not self.hits:
            return Packed("", (), omitted, 0)
        notes = notes_on(self.hits)
        return Packed(self._text(self._lines), tuple(self.hits), omitted, self.count(), notes)

    def _instead(
        self, hit: Hit, words: str | None, against: Sequence[str]
    ) -> tuple[Omission, str] | None:
        """Why a hit need not be packed, and the id of what is packed already."""
        said_by = None if words is None else self._said.get(words)
        if said_by is not None:
            return "repeat", said_by
        if hit.id in self._evidence:
            return "source", self._evidence[hit.id]
        for other in self.hits if against else ():
            # A guess from words is said, and leaves nothing out.
            if other.id in against and other.id != hit.corrected_by:
                return "contradiction", other.id
        return None

    def _contradicting(self, hit: Hit) -> Sequence[str]:
        return () if hit.until is not None else self._against.get(hit.id, ())

    def _text(self, lines: Sequence[str]) -> str:
        return text_of(lines, self._template)


def text_of(lines: Sequence[str], template: Template) -> str:
    """The lines, enclosed in their marks."""
    intro = () if template is BARE else (template.intro,)
    return "\n".join([OPENING, *intro, *lines, CLOSING])


def line_of(
    hit: Hit,
    template: Template,
    against: Sequence[str] = (),
    changed: Sequence[Record | None] | None = None,
    *,
    with_doubt: bool = True,
) -> str:
    """One hit as a line of a prompt, with its doubt and the ids of what contradicts or replaced it.

    ``changed`` is what holds in place of what it states, with None for what was erased; by default
    what the hit says.
    """
    pattern = template.record if hit.unit == "record" else template.episode
    line = filled(pattern, _values(hit, pattern))
    # The template has no mark, so a mark found here is content. This comes before invisible
    # characters are made visible, because visible ones would separate the "<" from the name.
    line = shown(without_marks(line))
    if with_doubt and hit.record is not None and hit.record.doubt is not None:
        line = f"{line} ({hit.record.doubt})"
    if hit.until is not None:
        now = ERASED if hit.current is None else hit.current.id
        return f"{line} (an earlier value, until {hit.until[:10]}; now [{now}])"
    if changed or hit.changed:
        line = f"{line} ({_since_changed(changed or hit.changed)})"
    if not against:
        return line
    return f"{line} (contradicted by {', '.join(f'[{id}]' for id in against)})"


def _since_changed(records: Iterable[Record | None]) -> str:
    """What a line says that states an earlier value of these records."""
    now = (f"{_beginning(each.text)} [{each.id}]" if each else f"[{ERASED}]" for each in records)
    return "; ".join(f"since changed: {each}" for each in now)


def _beginning(text: str) -> str:
    """The beginning of a text, as a line shows it."""
    plain = shown(without_marks(" ".join(text.split())))
    return plain if len(plain) <= _CHANGED_MAX_CHARS else plain[:_CHANGED_MAX_CHARS] + "…"


def erased_line() -> str:
    """The line that replaces one whose text was erased."""
    return f"- [{ERASED}]"


# The values for the placeholders of a line.
_VALUES: Final[dict[str, Callable[[Hit], str]]] = {
    "text": lambda hit: hit.text,
    "id": lambda hit: hit.id,
    "date": lambda hit: hit.at[:10],
    "role": lambda hit: hit.episode.role if hit.episode else "",
    "kind": lambda hit: hit.record.kind if hit.record else "",
    "key": lambda hit: (hit.record.key or "") if hit.record else "",
    "about": lambda hit: (hit.record.about or "") if hit.record else "",
    "tags": lambda hit: " ".join(f"#{tag}" for tag in hit.record.tags) if hit.record else "",
    "confidence": lambda hit: f"{hit.record.confidence:.2f}" if hit.record else "",
}


def _values(hit: Hit, pattern: str) -> dict[str, str]:
    """The values of the placeholders that a line has, without line breaks."""
    wanted = ((name, value(hit)) for name, value in _VALUES.items() if name in pattern)
    return {name: " ".join(value.split()) for name, value in wanted}


def notes_on(hits: Iterable[Hit]) -> tuple[str, ...]:
    """Sentences about the characters that lines of these hits show as marks."""
    told = note(hit.text for hit in hits)
    return (told,) if told else ()
