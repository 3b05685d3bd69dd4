"""A space as a branch sees it: writes become proposals, and reads see them made.

Responsible for turning the acts of a command into changes on a branch, and for reading the state
that a merge would lead to. Leaves the rules to ``lifecycle.branches.branch_writes``. Invariants:
nothing but proposals is written; what is read is the memory with every change of the branch, and is
undone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar, cast

from recollect.errors import Unsupported
from recollect.index.proposals import ProposalRow
from recollect.index.reads import Reads
from recollect.index.statements import NOW
from recollect.lifecycle import commands as c
from recollect.lifecycle.branches.branch_names import made_by, open_branch_known, subject_of
from recollect.memory.handle.acts import Acts
from recollect.memory.handle.handle import Handle
from recollect.model import validate
from recollect.store.port import Answer, Outcome, Space
from recollect.store.seam import Seam

T = TypeVar("T")


def branch_handle(handle: Handle, name: str) -> Handle:
    """The handle on an open branch, for the same actor."""
    handle.require_now()
    if isinstance(handle.space, BranchSpace):
        raise Unsupported("this handle is on a branch already", hint="use the memory's own handle")
    with handle.reading() as reads:
        row = open_branch_known(reads, handle.actor, validate.name(name, "branch"))
    space = BranchSpace(handle.space, row.id, handle.actor, handle.seam)
    return Handle(
        cast(Space, space),
        handle.seam,
        actor=handle.actor,
        close=handle.close,
        embedders=handle.embedders,
        due=handle.due,
    )


class BranchSpace:
    """The space of a memory, for one branch; what is not named here is the space's own."""

    def __init__(self, space: Space, branch: str, actor: c.Actor, seam: Seam) -> None:
        self._space = space
        self._branch = branch
        # A trial is of what a person's merge would do, but for the review; it is never written.
        self._trial = c.Actor(trust="person", user=actor.user, tz_minutes=actor.tz_minutes)
        self._acts = Acts(seam)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._space, name)

    @contextmanager
    def reading(self, at: int = NOW) -> Iterator[Reads]:
        """Reads of the memory with every change of the branch."""
        if at != NOW:
            raise Unsupported("a branch shows the present", hint="call `at` without the branch")
        with self._space.trying(self._command()) as reads:
            yield reads

    def submit(self, command: c.Command, answer: Answer[T]) -> T:
        """Files each act as a change on the branch; the answer sees it made."""
        acts = tuple(self._taken(act) for act in command.acts)
        written = c.Command(
            id=command.id,
            actor=command.actor,
            acts=acts,
            named=command.named,
            expect=command.expect,
        )
        changes = self._space.submit(written, lambda reads, outcome: _changes(reads, outcome, acts))
        with self._space.trying(self._command()) as reads:
            subjects = tuple(_record(reads, change) for change in changes)
            return answer(reads, Outcome(first=0, last=NOW, subjects=subjects))

    def submit_all(self, commands: Sequence[c.Command], answer: Answer[T]) -> NoReturn:
        """Refuses many commands at once, which may be of any kind."""
        raise Unsupported("a branch takes no import", hint="call it without the branch")

    def _taken(self, act: c.Act) -> c.OnBranch:
        if not isinstance(act, c.Remember | c.Revise | c.Forget):
            raise Unsupported(
                f"a branch takes remember, revise and forget, not {type(act).__name__.lower()}",
                hint="call it without the branch, or after the merge",
            )
        return self._acts.on_branch(self._branch, act)

    def later(self, command: c.Command) -> bool:
        """Queues nothing: a receipt would name events that are not written."""
        return False

    def _command(self) -> c.Command:
        return c.Command(id="trial", actor=self._trial, acts=(self._acts.try_branch(self._branch),))


def _changes(
    reads: Reads, outcome: Outcome, acts: tuple[c.OnBranch, ...]
) -> list[ProposalRow | str]:
    """What came of each act: the change that waits, or the record if there is none."""
    found: list[ProposalRow | str] = []
    for subject, act in zip(outcome.subjects, acts, strict=True):
        row = reads.proposal(subject) if subject else None
        named = "" if isinstance(act.wanted, c.Remember) else act.wanted.id
        found.append(subject or named if row is None else row)
    return found


def _record(reads: Reads, change: ProposalRow | str) -> str:
    """The record that a change is about, as a merge would leave it.

    A text that the memory has by now is added to no second record.
    """
    if isinstance(change, str):
        return change
    made = reads.proposal(change.id) if made_by(change) is not None else None
    return (made and made.record) or subject_of(change)
