"""Erasing one record or episode.

Responsible for what must be right before anything is removed, and for checking the ledger
afterwards. Leaves removing to the memory. Invariants: what is erased is what was shown; what stays
in the ledger as a reason does not repeat what was erased.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from recollect.errors import Changed, NotFound, Unavailable
from recollect.interfaces.web.checked import CHECKED
from recollect.interfaces.web.forms import Form
from recollect.interfaces.web.pages.erase import TYPED_CHARS, planned
from recollect.interfaces.web.view import Done, Shown
from recollect.memory import Memory
from recollect.model.events import KINDS

_TYPE: Final = "Type the last six characters of the id to go on. Nothing was erased."
_REPEATS: Final = (
    "The reason stays in the ledger for good, and this one repeats what is to be erased. "
    "Nothing was erased."
)
_CHANGED: Final = (
    "The memory has changed since this was shown, so nothing was erased. This is what erasing "
    "would remove now."
)
_REPEATED_MIN_CHARS: Final = 8


def erase(form: Form, memory: Memory) -> Done | Shown:
    """Removes it for good; the next page is the certificate."""
    id, reason = form.names["id"], form.text("reason").strip()
    sources = form.text("sources") != "keep"
    typed = form.text("typed").strip()
    if typed != id[-TYPED_CHARS:]:
        return _refused(form, memory, _TYPE, reason)
    if reason and _repeats(reason, form, memory, sources=sources):
        return _refused(form, memory, _REPEATS, "")
    try:
        done = memory.erase(
            id,
            sources=sources,
            reason=reason or None,
            expect=_expected(form.number("position"), memory),
            idempotency_key=form.command,
        )
    except Changed:
        return _refused(form, memory, _CHANGED, reason, status=409)
    hash = memory.events.get(done.seq).hash
    if CHECKED.places(hash) is None:  # else the form was sent twice
        CHECKED.erased(hash, done.places)
        with suppress(Unavailable):  # another check runs; the certificate offers one
            CHECKED.begin(memory, form.asked.now)
    return Done(to=form.url("erasures", done.seq), said="Erased for good.")


def _expected(shown: int, memory: Memory) -> int:
    """The position that was shown, or a later one if only receipts were written since."""
    memory.admin.flush()  # those that wait are not a change of what was shown
    now = memory.events.position
    others = [kind for kind in KINDS if kind != "context.handed"]
    return shown if memory.events.list(kinds=others, after=shown, limit=1) else now


def _refused(form: Form, memory: Memory, why: str, reason: str, status: int = 422) -> Shown:
    id, sources = form.names["id"], form.text("sources") != "keep"
    main = planned(form.asked, memory, id, sources=sources, refused=why, reason=reason)
    return Shown(title=f"Erase {id}", template="erase.html", main=main, status=status)


def _repeats(reason: str, form: Form, memory: Memory, *, sources: bool) -> bool:
    """True if a reason has one of the texts in it, or is a part of one."""
    try:
        main = planned(form.asked, memory, form.names["id"], sources=sources)
    except NotFound:
        return False  # it is gone: the form was sent twice
    said = reason.casefold()
    texts = (main.subject.text, *(each.text for each in main.episodes))
    is_long = len(said) >= _REPEATED_MIN_CHARS
    return any(each.casefold() in said or (is_long and said in each.casefold()) for each in texts)
