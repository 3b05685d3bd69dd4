"""From a call's arguments to a checked act.

Responsible for checking every argument, and for the ids and instants that are added to them. Leaves
what the act means to ``lifecycle``. Invariant: an act that leaves here can be stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypedDict, TypeVar, Unpack, cast, get_args

import msgspec
from msgspec import UNSET, UnsetType

from recollect.errors import InvalidInput
from recollect.lifecycle import commands as c
from recollect.memory.handle.fields import checked, end_of, noted, span_us
from recollect.memory.handle.fields import evidence as checked_evidence
from recollect.memory.handle.fields import tags as checked_tags
from recollect.model import validate
from recollect.model.events import Ending, Intent
from recollect.model.instants import Moment, dated
from recollect.model.messages import Content, Message, role_of, with_role, with_text
from recollect.model.record_fields import RecordFields, RevisedFields
from recollect.model.validate import Json
from recollect.model.values import Quote
from recollect.model.words import Sources
from recollect.store.seam import Seam

A = TypeVar("A", bound=c.Act)
_CHANCE_BYTES: Final = 16


class _Chance(TypedDict, total=False):
    """The parts of an id."""

    stamp: str
    chance: str


class Acts:
    """Makes acts, with ids and instants from one seam."""

    def __init__(self, seam: Seam) -> None:
        self._seam = seam

    def remember(
        self, text: str, fields: RecordFields, *, files: bool = False, fresh: bool = False
    ) -> c.Remember:
        """Store a statement as a record; ``files`` proposes one that may not replace another."""
        now = self._seam.now()
        act = c.Remember(
            text=validate.text(text),
            stamp=stamp(now),
            chance=self._seam.random(_CHANCE_BYTES).hex(),
            fresh=True if fresh else UNSET,
            **checked(fields, now),
        )
        is_filed = files and act.supersedes is not UNSET
        return msgspec.structs.replace(act, files=True) if is_filed else act

    def revise(
        self,
        id: str,
        text: str | None,
        *,
        files: bool = False,
        **fields: Unpack[RevisedFields],
    ) -> c.Revise:
        """Correct a record; with ``files`` as a proposal, if it may not be done at once."""
        expires, data = fields.get("expires", UNSET), fields.get("data")
        lasts = None if isinstance(expires, UnsetType) else expires
        until = expires if lasts is None else end_of(lasts, self._seam.now())
        grounds, more = checked_evidence(fields.get("evidence", ())), noted(fields)
        if text is None and not _says(fields):
            raise InvalidInput(
                "nothing to change was given",
                hint="give text, tags, untag, evidence, data or expires",
            )
        return c.Revise(
            id=validate.reference(id),
            text=UNSET if text is None else validate.text(text),
            reason=validate.reason(fields.get("reason")),
            **grounds,
            **more,
            expires=cast("str | None | UnsetType", until),
            expires_after_us=span_us(lasts),
            data=UNSET if data is None else validate.data(data),
            **(self._chance() if files else {}),
        )

    def change(
        self,
        id: str,
        text: str | None,
        *,
        files: bool = False,
        **fields: Unpack[RevisedFields],
    ) -> tuple[c.Revise | c.Tag, ...]:
        """Correct a record, change its tags, or both: tags are an act of their own, the last."""
        tagged = tag(id, fields.get("tags", ()), fields.get("untag", ()))
        fields["evidence"] = tuple(fields.get("evidence", ()))
        is_tagged = bool(tagged.add or tagged.remove)
        if is_tagged and text is None and not _says(fields):
            if fields.get("reason") is not None:
                raise InvalidInput("tags alone are changed without a reason", hint="leave it out")
            return (tagged,)
        revised = self.revise(id, text, files=files, **fields)
        return (revised, tagged) if is_tagged else (revised,)

    def open_session(self, id: str | None, task_type: str | None) -> c.OpenSession:
        """Open a session."""
        return c.OpenSession(
            id=None if id is None else validate.name(id, "id"),
            stamp=stamp(self._seam.now()),
            chance=self._seam.random(_CHANCE_BYTES).hex(),
            task_type=None if task_type is None else validate.name(task_type, "task_type"),
        )

    def forget(self, id: str, sources: str, reason: str | None, *, files: bool = False) -> c.Forget:
        """Take a record or an episode out of default reads, or propose to."""
        if sources not in get_args(Sources):
            raise InvalidInput(f"sources must be 'hide' or 'keep', not {sources!r}")
        word = validate.plain(sources, "sources")
        return c.Forget(
            id=validate.reference(id),
            sources="keep" if word == "keep" else "shadow",
            reason=validate.reason(reason),
            **(self._chance() if files else {}),
        )

    def strike(self, id: str, reason: str | None, *, files: bool = False) -> c.Archive:
        """Say that a record does not hold, or propose to; pages show it struck through."""
        return c.Archive(
            id=validate.reference(id),
            why="rejected",
            reason=validate.reason(reason),
            **(self._chance() if files else {}),
        )

    def settle(
        self,
        id: str,
        holds: bool,
        *,
        evidence: Iterable[str | Quote],
        reason: str | None,
        files: bool = False,
    ) -> c.Settle:
        """Confirm or refute a hypothesis, or propose to."""
        return c.Settle(
            id=validate.reference(id),
            holds=holds,
            reason=validate.reason(reason),
            **checked_evidence(evidence),
            **(self._chance() if files else {}),
        )

    def review(
        self, id: str, verdict: Literal["approved", "rejected"], digest: str, reason: str | None
    ) -> c.Review:
        """Approve or reject what waits."""
        return c.Review(
            id=validate.reference(id),
            verdict=verdict,
            digest=validate.plain(digest, "digest"),
            reason=validate.reason(reason),
            **self._chance(),
        )

    def propose(self, intent: str, fields: Mapping[str, Any]) -> c.Propose:
        """Ask a person for a change."""
        if intent not in get_args(Intent):
            raise InvalidInput(f"intent must be add, update, delete or noop, not {intent!r}")
        return c.Propose(intent=cast(Intent, intent), **fields, **self._chance())

    def open_branch(self, name: str, parent: str | None, reason: str | None) -> c.OpenBranch:
        """Begin a named line of proposals."""
        return c.OpenBranch(
            name=validate.name(name, "name"),
            parent=validate.optional_name(parent, "parent"),
            reason=validate.reason(reason),
            **self._chance(),
        )

    def on_branch(self, branch: str, wanted: c.Remember | c.Revise | c.Forget) -> c.OnBranch:
        """Make a change on a branch."""
        return c.OnBranch(branch=branch, wanted=wanted, **self._chance())

    def close_branch(
        self, name: str, how: Ending, reason: str | None, **fields: Any
    ) -> c.CloseBranch:
        """End a branch."""
        branch = validate.name(name, "name")
        reason = validate.reason(reason)
        return c.CloseBranch(branch=branch, how=how, reason=reason, **fields, **self._chance())

    def try_branch(self, branch: str) -> c.TryBranch:
        """Make every change of a branch, to look at it."""
        return c.TryBranch(branch=branch, **self._chance())

    def _chance(self) -> _Chance:
        """What the id of a proposal or of a record is made from."""
        chance = self._seam.random(_CHANCE_BYTES).hex()
        return {"stamp": stamp(self._seam.now()), "chance": chance}

    def observe(
        self,
        content: Content,
        *,
        role: str,
        session: str | None,
        said_at: Moment | None,
        metadata: Mapping[str, Json] | None,
        id: str | None,
    ) -> list[c.Observe]:
        """Keep a text, or each message of a conversation that says something."""
        return [
            self._observe(message, text, session, said_at, metadata, id)
            for message, text in with_text(content, role, id)
        ]

    def _observe(
        self,
        message: Message,
        text: str,
        session: str | None,
        said_at: Moment | None,
        metadata: Mapping[str, Json] | None,
        id: str | None,
    ) -> c.Observe:
        now = self._seam.now()
        said_at = cast(Moment | None, message.get("said_at")) or said_at
        own_id = message.get("id", id)
        role = role_of(message.get("role"))
        return c.Observe(
            text=validate.text(text),
            role=role,
            id=None if own_id is None else validate.identifier(cast(str, own_id)),
            stamp=stamp(now),
            chance=self._seam.random(_CHANCE_BYTES).hex(),
            said_at=now if said_at is None else dated(said_at),
            session=validate.optional_name(session, "session"),
            metadata=validate.data(with_role(metadata, message.get("role"), role), "metadata"),
        )


def _says(fields: RevisedFields) -> bool:
    """True if more is changed than tags."""
    if fields.get("expires", UNSET) is not UNSET or fields.get("evidence"):
        return True
    return fields.get("data") is not None or bool(noted(fields))


def restore(id: str) -> c.Restore:
    """Undo a forgetting, an archiving or a replacing."""
    return c.Restore(id=validate.reference(id))


def restore_alone(id: str) -> c.Restore:
    """Undo a forgetting or an archiving, not a replacing."""
    return c.Restore(id=validate.reference(id), alone=True)


def erase(id: str, sources: bool, reason: str | None) -> c.Erase:
    """Remove every byte."""
    return c.Erase(
        id=validate.reference(id),
        sources=validate.flag(sources, "sources"),
        reason=validate.reason(reason),
    )


def tag(id: str, add: Iterable[str], remove: Iterable[str]) -> c.Tag:
    """Put tags on and take tags off."""
    return c.Tag(id=validate.reference(id), add=checked_tags(add), remove=checked_tags(remove))


def link(source: str, target: str, kind: str, weight: float, name: str | None = None) -> c.Link:
    """Relate two records."""
    return c.Link(
        source=validate.reference(source),
        target=validate.reference(target),
        kind=validate.name(kind, "kind"),
        weight=validate.fraction(weight, "weight"),
        name=UNSET if name is None else validate.name(name, "name"),
    )


def unlink(source: str, target: str, kind: str) -> c.Unlink:
    """End a relation."""
    return c.Unlink(
        source=validate.reference(source),
        target=validate.reference(target),
        kind=validate.name(kind, "kind"),
    )


def stamp(now: str) -> str:
    """The date and minute that ids begin with."""
    return f"{now[:4]}{now[5:7]}{now[8:10]}-{now[11:13]}{now[14:16]}"


def well_formed(act: A) -> A:
    """An act that was made elsewhere; raises if a field has a value that no event can hold."""
    try:
        return msgspec.json.decode(msgspec.json.encode(act), type=type(act))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{type(act).__name__} cannot be stored: {error}") from error
