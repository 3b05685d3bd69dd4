"""What a person types to an assistant: kept at once, as an episode with a person's trust.

Responsible for storing a prompt, for telling which messages of a transcript were stored that way,
and for finding words that an assistant quotes. Leaves the rest of a session to
``assistants.capture`` and whether anything may be stored to ``places.consent``. Invariants: the
prompts of a session are numbered without a gap, and the number is the id of the command, which
stays after an erasure; redacted text is never hashed; what is long was pasted, not typed, and is
not kept here.
"""

from __future__ import annotations

import re
from collections import Counter
from datetime import timedelta
from hashlib import sha256
from typing import Final

from recollect.errors import Conflict, NotFound
from recollect.exchange.injected import spoken
from recollect.exchange.redaction import redact
from recollect.index.reads import Reads
from recollect.index.words.transient import TRANSIENT
from recollect.lifecycle.trust.lineage import in_one_line
from recollect.memory import Memory
from recollect.memory.handle.handle import handle_of
from recollect.memory.handle.healed import asked_again
from recollect.model.instants import later
from recollect.model.limits import QUOTE_MAX_CHARS
from recollect.model.validate import Json
from recollect.model.values import Quote
from recollect.places.consent import Prompts

TYPED_MAX_CHARS: Final = 16_000
_TEXT_MAX_CHARS: Final = 200_000
_RESULT_MAX_CHARS: Final = 16_000
_SAME_WITHIN: Final = timedelta(seconds=10)  # a prompt that two installed hooks report is one
_TYPED_WITHIN: Final = timedelta(minutes=1)  # a hook and the program tell about the same time
_TRIES: Final = 60  # each is lost only to a prompt that another process has kept
# A server of tools is not told the session, so words are looked for in what was said last.
QUOTABLE: Final = timedelta(hours=12)
_LOOKED_AT: Final = 500  # episodes
_SESSION: Final = re.compile(r"[A-Za-z0-9-]{1,64}")


def stored_text(text: str, role: str) -> tuple[str, dict[str, int]]:
    """A text as it is stored, without secrets, and how many of each kind were removed.

    It is cut after redaction, so that a cut cannot hide a secret.
    """
    plain, found = redact(text)
    at_most = _RESULT_MAX_CHARS if role == "tool" else _TEXT_MAX_CHARS
    more = len(plain) - at_most
    return (f"{plain[:at_most]} … ({more:,} more characters)" if more > 0 else plain), found


def metadata_for(prompts: Prompts) -> dict[str, Json] | None:
    """The metadata of a person's message: only as memory it is recalled even if it asks."""
    return {TRANSIENT: False} if prompts == "memory" else None


def keep(memory: Memory, prompt: str, session: str, prompts: Prompts = "quoting") -> bool:
    """Stores a prompt, if it says something; True if it is stored now."""
    text = spoken(prompt)
    if not text or len(text) > TYPED_MAX_CHARS:
        return False
    text, _ = stored_text(text, "user")
    for _ in range(_TRIES):  # another process may take the number
        number, last = _next(memory, session)
        if last is not None and last[0] == text and handle_of(memory).now() < last[1]:
            return False
        id = _id(session, number)
        try:
            memory.observe(
                text, role="user", id=id, idempotency_key=id, metadata=metadata_for(prompts)
            )
        except Conflict:
            continue
        return True
    return False


def quoted(memory: Memory, words: str) -> Quote | None:
    """These words as a quote of what a person said last; None if no one said them of late."""
    wanted = in_one_line(words)
    if not wanted or len(words) > QUOTE_MAX_CHARS:
        return None
    since = later(handle_of(memory).now(), -QUOTABLE)
    for said in memory.sessions.recent(unit="episode", since=since, limit=_LOOKED_AT):
        if said.trust == "person" and wanted in in_one_line(said.text):
            return Quote(said.id, words)
    return None


class Typed:
    """The prompts of one session that were kept when they were typed."""

    def __init__(self, memory: Memory, session: str) -> None:
        self._texts: Counter[str] = Counter()
        self._is_erased = False
        self._read(memory, session)

    def covers(self, text: str) -> bool:
        """True if a message need not be stored: it is one of these, or may be one that was erased.

        What was erased is not known any more. So after an erasure no words of a person come back
        that were not kept when they were typed.
        """
        if self._texts[text] > 0:
            self._texts[text] -= 1  # the same words may have been typed twice
            return True
        return self._is_erased

    @asked_again
    def _read(self, memory: Memory, session: str) -> None:
        self._texts.clear()
        handle = handle_of(memory)
        try:
            with handle.reading() as reads:
                for number in range(1, _next_number(reads, session)):
                    episode = reads.episode(_id(session, number))
                    if episode is None or not handle.may_see(episode):
                        self._is_erased = True
                    else:
                        self._texts[episode.text] += 1
        except NotFound:
            return  # no memory was created yet


class Said:
    """What a person said around some instants, in whichever session.

    A fork of a talk holds its prompts again, and may be captured before the talk itself.
    """

    def __init__(self, memory: Memory, instants: list[str | None]) -> None:
        self._texts: dict[str, list[str]] = {}
        around = [at for at in instants if at is not None]
        if around:
            self._read(
                memory, later(min(around), -_TYPED_WITHIN), later(max(around), _TYPED_WITHIN)
            )

    def covers(self, text: str, at: str | None) -> bool:
        """True if a person said these words at about this time."""
        if at is None:
            return False
        first, last = later(at, -_TYPED_WITHIN), later(at, _TYPED_WITHIN)
        return any(first <= said <= last for said in self._texts.get(text, ()))

    def _read(self, memory: Memory, since: str, before: str) -> None:
        try:
            found = memory.sessions.recent(
                unit="episode", since=since, before=before, limit=_LOOKED_AT
            )
        except NotFound:
            return  # no memory was created yet
        for said in found:
            if said.trust == "person" and said.said_at is not None:
                self._texts.setdefault(said.text, []).append(said.said_at)


@asked_again
def _next(memory: Memory, session: str) -> tuple[int, tuple[str, str] | None]:
    """The number of the next prompt, and the text of the last, and until when it is the same."""
    try:
        with handle_of(memory).reading() as reads:
            number = _next_number(reads, session)
            last = reads.episode(_id(session, number - 1))
            return number, None if last is None else (last.text, later(last.said_at, _SAME_WITHIN))
    except NotFound:
        return 1, None  # no memory was created yet


def _next_number(reads: Reads, session: str) -> int:
    """The first number that no prompt of the session has."""
    low, high = 0, 1  # those up to ``low`` are taken, ``high`` is not, once the first loop ends
    while reads.command(_id(session, high)) is not None:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if reads.command(_id(session, middle)) is None:
            high = middle
        else:
            low = middle
    return high


def _id(session: str, number: int) -> str:
    """The id of a prompt and of its command."""
    if not _SESSION.fullmatch(session):
        session = sha256(session.encode("utf-8", "surrogatepass")).hexdigest()[:32]
    return f"prompt-{session}-{number}"
