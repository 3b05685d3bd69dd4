"""The verbs about branches.

Responsible for opening, showing, merging and closing them, and for a diff that a person can read.
Leaves who may, and what a conflict is, to the memory. Invariants: nothing is merged that was not
shown, because a merge passes the digest of the diff; in a pipe nothing is asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from recollect.errors import Changed, InvalidInput
from recollect.interfaces.cli import answer, plain
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.declare import Argument, Exit, Option
from recollect.model.counts import counted
from recollect.model.values import Branch, BranchChange, Choice, Diff

Name = Annotated[str, Argument(metavar="NAME", help="The name or the id of a branch.")]
NewName = Annotated[str, Argument(metavar="NAME", help="The name of the new branch.")]
Summary = Annotated[str, Argument(metavar="TEXT", help="What was learnt on the branch.")]
Parent = Annotated[
    str | None, Option(metavar="NAME", help="The branch that it comes from.  [default: none]")
]
Key = Annotated[str | None, Option(metavar="NAME", help="The key of the summary.")]
Closed = Annotated[bool, Option("--closed", help="Also branches that were closed.")]
Ours = Annotated[
    list[str] | None,
    Option("--ours", metavar="ID", help="Keep what the memory has; may be repeated."),
]
Theirs = Annotated[
    list[str] | None,
    Option("--theirs", metavar="ID", help="Take the branch's side of a conflict; may be repeated."),
]
Edits = Annotated[
    list[str] | None,
    Option("--edit", metavar="ID=TEXT", help="Take this text instead; may be repeated."),
]
Digest = Annotated[
    str | None,
    Option("--digest", metavar="HEX", help="The digest that you saw in `branches diff --json`."),
]


@verb
def open_branch(
    call: Call,
    name: NewName,
    parent: Parent = None,
    reason: o.Reason = None,
    user: o.User = None,
) -> None:
    """Open a branch: changes wait there until you merge it."""
    with call.memory(create=True) as memory:
        made = memory.scoped(user=user).branches.open(name, parent=parent, reason=reason)
    call.answer(made, lambda branch: plain.say(f"Opened {_line(branch)}"))


@verb
def list_all(
    call: Call, closed: Closed = False, limit: o.Limit = 20, at: o.At = None, user: o.User = None
) -> None:
    """List branches, the newest first."""
    with call.memory() as memory:
        found = o.past(memory.scoped(user=user), at).branches.list(closed=closed, limit=limit)
    call.answer({"branches": found}, lambda _: _listed(found))
    if not found:
        raise Exit(answer.NO)


@verb
def show(call: Call, name: Name, at: o.At = None, user: o.User = None) -> None:
    """Show when a branch was opened, what is on it, and how it ended."""
    with call.memory() as memory:
        found = o.past(memory.scoped(user=user), at).branches.show(name)
    call.answer(found, lambda branch: plain.say(*_shown(branch)))


@verb
def diff(call: Call, name: Name, at: o.At = None, user: o.User = None) -> None:
    """Show what merging a branch would change, and both sides of each conflict."""
    with call.memory() as memory:
        found = o.past(memory.scoped(user=user), at).branches.diff(name)
    call.answer(found, lambda value: plain.say(*_compared(value)))


@verb
def merge(
    call: Call,
    name: Name,
    ours: Ours = None,
    theirs: Theirs = None,
    edit: Edits = None,
    digest: Digest = None,
    reason: o.Reason = None,
    user: o.User = None,
    yes: o.Yes = False,
) -> None:
    """Make every change of a branch, after showing it, and close it."""
    edits = [_edit(given) for given in edit or ()]
    _check_once([*(ours or ()), *(theirs or ()), *(id for id, _ in edits)])
    choose: dict[str, Choice] = dict.fromkeys(ours or (), "ours")
    choose |= dict.fromkeys(theirs or (), "theirs")
    with call.memory() as memory:
        branches = memory.scoped(user=user).branches
        shown = branches.diff(name)
        if digest not in (None, shown.digest):
            raise Changed(
                "the branch is not what you saw", hint=f"`recollect branches diff {name}` shows it"
            )
        if not call.json and digest is None:
            plain.say(*_compared(shown))
        if digest is None:
            many = counted(len(shown.changes), "change")
            call.confirm(f"Merge {many} of {name}?", yes=yes, what="merging")
        done = branches.merge(name, shown.digest, choose=choose, edits=dict(edits), reason=reason)
    made, kept = counted(len(done.records), "record"), len(done.kept)
    left = f", {counted(kept, 'change')} left out" if kept else ""
    call.answer(done, lambda _: plain.say(f"Merged {_named(done.branch)}: {made}{left}"))


@verb
def abandon(call: Call, name: Name, reason: o.Reason = None, user: o.User = None) -> None:
    """Reject everything on a branch, and close it."""
    with call.memory() as memory:
        left = memory.scoped(user=user).branches.abandon(name, reason)
    call.answer(left, lambda branch: plain.say(f"Abandoned {_line(branch)}"))


@verb
def condense(
    call: Call,
    name: Name,
    text: Summary,
    key: Key = None,
    reason: o.Reason = None,
    user: o.User = None,
) -> None:
    """Reject everything on a branch, keep one record of what it was, and close it."""
    with call.memory() as memory:
        left = memory.scoped(user=user).branches.condense(name, text, key=key, reason=reason)
    call.answer(left, lambda branch: plain.say(f"Condensed {_named(branch)} into {branch.record}"))


def _edit(given: str) -> tuple[str, str]:
    id, equals, text = given.partition("=")
    if not equals or not text:
        raise InvalidInput(f"--edit {given!r} is not ID=TEXT", hint="`branches diff` shows the ids")
    return id, text


def _check_once(ids: Sequence[str]) -> None:
    """Refuses a change that is decided twice: which of both was meant is not known."""
    for id in ids:
        if ids.count(id) > 1:
            raise InvalidInput(
                f"{id} is decided twice", hint="name it in one of --ours, --theirs and --edit"
            )


def _listed(found: Sequence[Branch]) -> None:
    if not found:
        plain.say("No branch is open here.")
    plain.say(*map(_line, found))


def _named(branch: Branch) -> str:
    return plain.bold(plain.one_line(branch.name))


def _line(branch: Branch) -> str:
    """The name, what it is for, whose it is, and how it stands."""
    user = branch.scope.user
    parts = (branch.reason, f"of {user}" if user else None)
    about = "".join(f"  {plain.one_line(part)}" for part in parts if part)
    if branch.is_open or branch.closed_at is None:
        state = f"{counted(branch.changes, 'change')}, open from {plain.moment(branch.at)}"
    else:
        state = f"{branch.how}, {plain.moment(branch.closed_at)}"
    return f"{_named(branch)}{about}  {plain.dim(state)}"


def _shown(branch: Branch) -> Iterator[str]:
    yield _line(branch)
    named = {
        "id": branch.id,
        "parent": branch.parent,
        "events": ", ".join(map(str, branch.events)) or None,
        "reason given": branch.note,
        "summary": branch.record,
    }
    for name, value in named.items():
        if value is not None:
            yield f"  {name}: {plain.one_line(value)}"


def _compared(value: Diff) -> Iterator[str]:
    """Every change, with what it would replace; a conflict has three sides."""
    many, conflicts = counted(len(value.changes), "change"), len(value.conflicts)
    note = f", {counted(conflicts, 'conflict')}" if conflicts else ""
    yield f"{_named(value.branch)}: {many}{note}"
    for change in value.changes:
        yield ""
        yield from _change(change)
    if conflicts:
        yield ""
        yield "Decide each conflict: --ours ID keeps what the memory has, --theirs ID takes the"
        yield "branch's, --edit ID=TEXT takes another text."


def _change(change: BranchChange) -> Iterator[str]:
    about = {"add": "adds", "update": "changes", "delete": "forgets"}.get(change.intent, "keeps")
    mark = "conflict: " if change.conflict else ""
    key = f"  key {plain.one_line(change.key)}" if change.key else ""
    yield f"{plain.bold(change.id)}  {mark}{about} {change.record}{key}"
    base, ours = (None if one is None else one.text for one in (change.base, change.ours))
    if change.conflict:
        yield from _side("base", base)
        yield from _side("ours", ours if _holds(change) else None)
        yield from _side("theirs", change.text)
    else:
        if ours is not None:
            yield from plain.wrapped(ours, "  ", "- ")
        if change.text is not None:
            yield from plain.wrapped(change.text, "  ", "+ ")
    others = {name: value for name, value in change.changes.items() if name != "replaces"}
    for name, other in others.items():
        yield plain.dim(f"  {name}: {plain.one_line(str(other))}")
    if change.reason:
        yield plain.dim(f"  because: {plain.one_line(change.reason)}")


def _holds(change: BranchChange) -> bool:
    return change.ours is not None and change.ours.status not in (
        "forgotten",
        "replaced",
        "archived",
    )


def _side(name: str, text: str | None) -> Iterator[str]:
    first = f"  {name:<8}"
    yield from plain.wrapped("(nothing)" if text is None else text, " " * 10, first)
