"""``recollect review``: what waits for a person, one screen for each.

Responsible for showing proposals and waiting records, and for asking. Leaves drawing a screen to
``draw_review`` and the decision to ``Memory.review``. Invariants: nothing is approved that was not
shown, because an approval passes the digest of the screen or of the list; in a pipe nothing is
asked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Final, NamedTuple, TypeAlias

from recollect.assistants.mounted import Mount
from recollect.errors import Conflict, Forbidden, InvalidInput, NotFound, RecollectError
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Exit
from recollect.memory import Memory
from recollect.model.counts import counted
from recollect.model.values import Proposal

Waits = Annotated[
    list[str],
    Argument(
        metavar="ID...",
        help="Proposals or records that wait, as `recollect review list` prints them.",
    ),
]
Seen = Annotated[
    list[str],
    Argument(
        metavar="ID[@DIGEST]...",
        help="Proposals or records that wait, each with the digest of what you saw, as `recollect "
        "review list` prints them.",
    ),
]
_PAGE: Final = 1_000
_SEEN: Final = re.compile("(.+)@([0-9a-fA-F]{64})")  # an id and a digest
_Refused: TypeAlias = tuple[str, RecollectError]  # what was named, and why nothing was decided
_KEYS: Final = "a approve   r reject   l later   m more   u undo   q quit   (and Enter)"
_DONE: Final = {
    "approved": "Approved",
    "rejected": "Rejected",
    "applied": "Applied",
    "withdrawn": "Withdrawn",
}


class Waiting(NamedTuple):
    """Something that waits, as it was when it was listed, and the memory that it is in."""

    memory: Memory
    shown: Proposal
    seen: str | None = None  # the digest that the caller gave with it

    @property
    def id(self) -> str:
        """Its id."""
        return self.shown.id


@verb
def review(call: Call, user: o.User = None, mount: o.MountOption = None) -> None:
    """Decide what waits for you: proposals, and records that wait.

    On a terminal one screen for each, with keys; in a pipe, or with --json, a list.
    """
    with call.memories(mount) as found:
        waiting = _waiting([opened.scoped(user=user) for _, opened in found])
        if call.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
            _list(call, waiting)
        else:
            _Session(waiting).run()


@verb
def list_all(call: Call, user: o.User = None, mount: o.MountOption = None) -> None:
    """List what waits for you, the longest first, each with its digest."""
    with call.memories(mount) as found:
        _list(call, _waiting([opened.scoped(user=user) for _, opened in found]))


@verb
def show(call: Call, ids: Waits, user: o.User = None, mount: o.MountOption = None) -> None:
    """Show what waits in full."""
    _decide_on(call, ids, None, None, yes=False, user=user, mount=mount)


@verb
def approve(
    call: Call,
    ids: Seen,
    reason: o.Reason = None,
    yes: o.Yes = False,
    user: o.User = None,
    mount: o.MountOption = None,
) -> None:
    """Approve what waits, as you saw it."""
    _decide_on(call, ids, "approve", reason, yes=yes, user=user, mount=mount)


@verb
def reject(
    call: Call,
    ids: Seen,
    reason: o.Reason = None,
    yes: o.Yes = False,
    user: o.User = None,
    mount: o.MountOption = None,
) -> None:
    """Reject what waits; what was proposed is not done."""
    _decide_on(call, ids, "reject", reason, yes=yes, user=user, mount=mount)


def _decide_on(
    call: Call,
    ids: Sequence[str],
    verdict: str | None,
    reason: str | None,
    *,
    yes: bool,
    user: str | None,
    mount: Mount | None,
) -> None:
    with call.memories(mount) as found:
        memories = [opened.scoped(user=user) for _, opened in found]
        _each(call, *_all_named(memories, ids), verdict, reason, yes)


def _waiting(memories: Sequence[Memory]) -> list[Waiting]:
    return [Waiting(memory, one) for memory in memories for one in _all(memory)]


def _named(memories: Sequence[Memory], given: str) -> Waiting:
    """What ``ID`` or ``ID@DIGEST`` names."""
    seen = _SEEN.fullmatch(given)
    id, digest = seen.groups() if seen else (given, None)
    return _holding(memories, id)._replace(seen=digest and digest.lower())


def _all_named(
    memories: Sequence[Memory], given: Sequence[str]
) -> tuple[list[Waiting], list[_Refused]]:
    """What these name, and those of several that name nothing."""
    named: list[Waiting] = []
    missing: list[_Refused] = []
    for each in given:
        try:
            named.append(_named(memories, each))
        except NotFound as error:
            if len(given) == 1:
                raise
            missing.append((each, error))
    return named, missing


def _all(memory: Memory) -> list[Proposal]:
    """Everything that waits in a memory, the longest first."""
    found: list[Proposal] = []
    while page := memory.review.list(limit=_PAGE, after=found[-1].seq if found else 0):
        found += page
    return found


def _holding(memories: Sequence[Memory], id: str) -> Waiting:
    """The memory that has what an id, or the beginning of one, names."""
    missing: NotFound | None = None
    for memory in memories:
        try:
            return Waiting(memory, memory.review.show(id))
        except NotFound as error:
            missing = error
    begun = [
        Waiting(memory, one) for memory in memories for one in _all(memory) if one.id.startswith(id)
    ]
    if len(begun) == 1:
        return begun[0]
    if begun:
        ids = ", ".join(one.id for one in begun[:8])
        raise InvalidInput(f"{id!r} could mean {ids}", hint="give more of the id")
    raise missing or NotFound(f"nothing that waits has the id {id!r}")


def _each(
    call: Call,
    named: Sequence[Waiting],
    missing: Sequence[_Refused],
    verdict: str | None,
    reason: str | None,
    yes: bool,
) -> None:
    """Shows or decides one after the other; what cannot be decided stops none of the others."""
    if len(named) == 1 and not missing:
        _answer(call, named[0], _decided(call, named[0], verdict, reason, yes))
        return
    for one in named if verdict else ():
        if one.seen is None:
            raise _unseen(one)
    done: list[Proposal] = []
    refused = list(missing)
    for one in named:
        try:
            done.append(_decided(call, one, verdict, reason, yes))
        except Conflict as error:
            refused.append((one.id, error))
        else:
            if not call.json:
                _answer(call, one, done[-1])
    if call.json:
        failed = [{"id": id, "code": why.code, "message": str(why)} for id, why in refused]
        answer.write_json({"reviews": done, "refused": failed})
    for id, why in () if call.json else refused:
        plain.refuse(f"{id}: {why.message}", why.hint)
    if refused:
        raise Exit(next(code for kind, code in answer.CODES if isinstance(refused[0][1], kind)))


def _answer(call: Call, one: Waiting, value: Proposal) -> None:
    is_shown = value is one.shown
    call.answer(
        value,
        lambda value: _draw(value, more=True) if is_shown else plain.say(_said(value)),
        one.memory,
    )


def _decided(
    call: Call, one: Waiting, verdict: str | None, reason: str | None, yes: bool
) -> Proposal:
    """One after its decision, or as it is without a verdict."""
    shown, digest = one.shown, one.seen
    if verdict is None:
        return shown
    if digest is None:
        if call.json or not sys.stdin.isatty():
            raise _unseen(one)
        _draw(shown, more=True)
        call.confirm(f"{verdict.capitalize()} this?", yes=yes, what="a review")
        digest = shown.digest
    decide = one.memory.review.approve if verdict == "approve" else one.memory.review.reject
    return decide(one.id, digest, reason=reason)


def _unseen(one: Waiting) -> Forbidden:
    return Forbidden(
        "a decision needs the digest of what you saw",
        hint=f"give {one.id}@DIGEST, as `recollect review list` prints it",
    )


def _list(call: Call, waiting: Sequence[Waiting]) -> None:
    """What waits, with digests."""
    found = [one.shown for one in waiting]
    call.answer({"waiting": found}, lambda _: _listed(found))
    if not found:
        call.note("Nothing waits for a review.")
        raise Exit(answer.NO)


def _listed(found: Sequence[Proposal]) -> None:
    for one in found:
        plain.say(f"{plain.bold(one.id)}  {plain.one_line(_what(one))}")
        if one.before is not None:
            plain.say(*plain.wrapped(one.before.text, "       ", "  now  "))
        if one.text is not None:
            plain.say(*plain.wrapped(one.text, "       ", "  new  "))
        stale = "stale: its target has changed since" if one.stale else None
        used = f"used by {counted(len(one.resting), 'record')}" if one.resting else None
        plain.say("  " + plain.details(one.trust, one.scope.agent, one.reason, used, stale))
        plain.say(plain.dim(f"  {one.id}@{one.digest}"))


def _what(one: Proposal) -> str:
    """What would be done, in a few words."""
    before = None if one.before is None else one.before.key
    name = one.key or before or "a record"
    verbs = {
        "add": "add",
        "update": "change",
        "delete": "refute" if one.refutes else "forget",
    }
    return f"{verbs[one.intent]} {name}" if one.intent in verbs else "nothing to do"


def _said(value: Proposal) -> str:
    made = f": {value.record}" if value.record and value.record != value.id else ""
    return f"{_DONE[value.state]} {value.id}{made}"


def _draw(value: Proposal, *, more: bool, title: str = "") -> None:
    from recollect.interfaces.cli.screens.draw_review import screen

    screen(value, title=title or _what(value), more=more)


class _Session:
    """One person at a terminal, going through the queue."""

    def __init__(self, waiting: Sequence[Waiting]) -> None:
        self._waiting = waiting
        self._place = 0
        self._decided: list[tuple[int, str, int]] = []  # place, verdict, position after it

    def run(self) -> None:
        """Asks about one after the other, until the end or q."""
        if not self._waiting:
            plain.say("Nothing waits for a review.")
            raise Exit(answer.NO)
        more = False
        while self._place < len(self._waiting):
            one = self._waiting[self._place]
            shown = one.memory.review.show(one.id)
            _draw(
                shown,
                more=more,
                title=f"{self._place + 1} of {len(self._waiting)} · {_what(shown)}",
            )
            key = _key()
            more = key == "m"
            if key == "q":
                break
            self._act(key, one, shown)
        self._say_what_was_done()

    def _act(self, key: str, one: Waiting, shown: Proposal) -> None:
        if key == "a":
            self._decide("approved", lambda: one.memory.review.approve(one.id, shown.digest))
        elif key == "r":
            reason = _reason()
            self._decide("rejected", lambda: one.memory.review.reject(one.id, shown.digest, reason))
        elif key == "l":
            self._place += 1
        elif key == "u":
            self._undo()

    def _decide(self, verdict: str, call: Callable[[], Proposal]) -> None:
        try:
            plain.say(_said(call()), "")
        except Conflict as error:
            plain.refuse(error.message, error.hint)
            return
        memory = self._waiting[self._place].memory
        self._decided.append((self._place, verdict, memory.events.position))
        self._place += 1

    def _undo(self) -> None:
        """Takes the last decision of this session back and shows it again."""
        if not self._decided:
            plain.say("Nothing was decided yet.")
            return
        place, verdict, position = self._decided[-1]
        one = self._waiting[place]
        if verdict == "rejected" and one.memory.review.show(one.id).unit == "proposal":
            plain.say("A rejected proposal stays rejected; `recollect revise` makes the change.")
            return
        try:
            one.memory.undo(expect=position)
        except Conflict as error:
            plain.refuse(error.message, error.hint)
            return
        self._decided.pop()
        is_open = one.memory.review.show(one.id).state == "waiting"
        self._place = place if is_open else self._place
        plain.say("Taken back." if is_open else "Taken back; the proposal stays closed.", "")

    def _say_what_was_done(self) -> None:
        counts = [sum(v == verdict for _, v, _ in self._decided) for verdict in _DONE]
        said = [f"{n} {verdict}" for n, verdict in zip(counts, _DONE, strict=True) if n]
        left = len(self._waiting) - len(self._decided)
        said += [f"{left} still waiting"] if left else []
        plain.say(", ".join(said) + "." if said else "Nothing was decided.")


def _key() -> str:
    """What a person chooses: a letter or the word; a line, so that what is typed ahead counts."""
    while True:
        plain.say(plain.dim(_KEYS))
        line = sys.stdin.readline()
        word = line.strip().lower() if line else "quit"
        for choice in ("approve", "reject", "later", "more", "undo", "quit"):
            if word in (choice, choice[0]):
                return choice[0]


def _reason() -> str | None:
    """Why, in a few words; empty for none."""
    plain.say(plain.dim("Why? (Enter for no reason)"))
    return sys.stdin.readline().strip() or None
