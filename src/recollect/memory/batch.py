"""Several writes that happen together or not at all.

Responsible for collecting acts until the block ends. Leaves checking them to ``memory.handle.acts``
and deciding to ``lifecycle``. Invariant: nothing happens if the block raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Self, Unpack

from recollect.errors import Conflict
from recollect.lifecycle.commands import Act, Reinforce
from recollect.memory.handle import acts
from recollect.memory.handle.acts import Acts
from recollect.memory.handle.answers import Unmade, made
from recollect.model import validate
from recollect.model.events import Role
from recollect.model.instants import Moment
from recollect.model.messages import Content
from recollect.model.record_fields import RecordFields, RevisedFields
from recollect.model.validate import Json
from recollect.model.values import Episode, Record
from recollect.model.words import Sources

Submit = Callable[[tuple[Act, ...]], list[Unmade]]


class Batch:
    """Use as ``with memory.batch() as batch:``; ``batch.results`` has what came of each write."""

    def __init__(self, make: Acts, submit: Submit) -> None:
        self._make = make
        self._submit = submit
        self._acts: list[Act] = []
        self._within: set[int] = set()  # acts that are a part of the write after them
        self._unmade: list[Unmade] = []
        self._results: list[Record | Episode] = []

    @property
    def results(self) -> list[Record | Episode]:
        """What came of each write, in order; made when it is first looked at."""
        if self._unmade:
            self._results, self._unmade = made(self._unmade), []
        return self._results

    def remember(self, text: str, **fields: Unpack[RecordFields]) -> None:
        """Store a statement as a record, with the fields of ``Memory.remember``."""
        self._acts.append(self._make.remember(text, fields))

    def observe(
        self,
        content: Content,
        *,
        role: Role = "user",
        session: str | None = None,
        said_at: Moment | None = None,
        metadata: Mapping[str, Json] | None = None,
        id: str | None = None,
    ) -> None:
        """Store what was seen or said, verbatim."""
        made = self._make.observe(
            content, role=role, session=session, said_at=said_at, metadata=metadata, id=id
        )
        self._acts.extend(made)

    def revise(self, id: str, text: str | None = None, **fields: Unpack[RevisedFields]) -> None:
        """Correct a record, or change its tags, with the fields of ``Memory.revise``."""
        validate.arguments("revise", fields, RevisedFields)  # ``change`` has one of its own
        made = self._make.change(id, text, **fields)
        self._acts.extend(made)
        self._within.update(range(len(self._acts) - len(made), len(self._acts) - 1))

    def forget(self, id: str, *, sources: Sources = "hide", reason: str | None = None) -> None:
        """Take something out of default reads."""
        self._acts.append(self._make.forget(id, sources, reason))

    def undo(self, id: str) -> None:
        """Bring back what was forgotten or archived; what holds stays as it is.

        What was replaced is refused: ``Memory.undo`` brings it back in the place of the other.
        """
        self._acts.append(acts.restore_alone(id))

    def link(
        self,
        source: str,
        target: str,
        kind: str = "relates_to",
        weight: float = 1.0,
        name: str | None = None,
    ) -> None:
        """Relate two records."""
        self._acts.append(acts.link(source, target, kind, weight, name))

    def used(self, ids: Iterable[str]) -> None:
        """Report that these records were useful."""
        self._acts.extend(Reinforce(id=validate.reference(id)) for id in ids)

    def __enter__(self) -> Self:
        if self._acts:
            raise Conflict("this batch was used before", hint="begin a new one")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None and self._acts:
            done = enumerate(self._submit(tuple(self._acts)))
            self._unmade = [one for place, one in done if place not in self._within]
