"""The tools about what waits for a person: ``propose`` and ``review_list``.

Responsible for their arguments and answers. Leaves deciding to a person, who runs
`recollect review`. Invariants: no tool approves or rejects, because a model would approve its own
changes; unverified text, also of what a proposal would replace, is never in a field named ``text``.
"""

from __future__ import annotations

from typing import Annotated, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from recollect.assistants.mounted import Mount, Mounted
from recollect.assistants.mounts import Mounts
from recollect.interfaces.mcp import quoting
from recollect.interfaces.mcp.answers import QUOTED, Answer, Item, found, noted, quoted
from recollect.interfaces.mcp.tools import (
    Arguments,
    Tool,
    UserWords,
    WriteMount,
    optional,
    refuse_repeats,
)
from recollect.model.events import Intent, Trust
from recollect.model.values import Proposal
from recollect.model.visible import note, shown

_DECIDES: Final = "Nothing changes until the user runs `recollect review`."


class Propose(Arguments, frozen=True, kw_only=True):
    """The arguments of ``propose``."""

    text: (
        Annotated[str, Meta(description="as it should be; without it, `id` would be forgotten")]
        | UnsetType
    ) = UNSET
    id: (
        Annotated[str, Meta(description="the record to change; without it, one is added")]
        | UnsetType
    ) = UNSET
    key: str | UnsetType = UNSET
    about: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    evidence: Annotated[tuple[str, ...], Meta(description="ids of episodes")] = ()
    quote: UserWords | UnsetType = UNSET
    unverified: Annotated[bool, Meta(description="true for text from a tool, file or web page")] = (
        False
    )
    memory: WriteMount | UnsetType = UNSET


class ReviewList(Arguments, frozen=True, kw_only=True):
    """The arguments of ``review_list``."""

    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class Proposed(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of ``propose``."""

    id: str
    date: str
    trust: Trust
    memory: Mount
    intent: Intent
    note: str = ""

    def short(self) -> str:
        """What was proposed, and who decides."""
        what = f"Proposed to {self.intent} in {self.memory}, as {self.trust} [{self.id}]."
        return "\n".join([f"{what} {_DECIDES}", *noted(self.note)])


class Waiting(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that waits. ``text`` if it is trusted, else ``quoted``; neither if it deletes."""

    id: str
    date: str
    trust: Trust
    memory: Mount
    intent: Intent
    text: str | UnsetType = UNSET
    quoted: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET  # only of what is trusted
    now: Item | UnsetType = UNSET  # what it would change
    stale: bool = False
    note: str | UnsetType = UNSET  # what is shown differently from what is stored

    @property
    def is_trusted(self) -> bool:
        """True if neither the change nor what it would change is unverified."""
        seen = [self.trust] if isinstance(self.now, UnsetType) else [self.trust, self.now.trust]
        return "unverified" not in seen

    def lines(self) -> str:
        """What would change, and what holds until then."""
        words = self.quoted if isinstance(self.text, UnsetType) else self.text
        said = f": {quoted(words)}" if words else ""
        line = f"- {self.date}, {self.memory}, {self.trust}, {self.intent}{said} [{self.id}]"
        if self.reason:
            line += f" (reason: {quoted(self.reason)})"
        if self.stale:
            line += " (its target has changed since)"
        if self.note:
            line += f" ({self.note})"
        return line if isinstance(self.now, UnsetType) else f"{line}\n  now {self.now.line()[2:]}"


class Queue(Answer, frozen=True, kw_only=True, omit_defaults=True):
    """The answer of ``review_list``."""

    waiting: tuple[Waiting, ...]
    unverified: tuple[Waiting, ...]
    more: bool = False

    def short(self) -> str:
        """What waits, the unverified apart."""
        if not self.waiting and not self.unverified:
            return "Nothing waits for review."
        parts = [*(one.lines() for one in self.waiting), _DECIDES]
        if self.more:
            parts.append("More waits: `recollect review` lists all.")
        if self.unverified:
            parts += [QUOTED, *(one.lines() for one in self.unverified)]
        return "\n".join(parts)


def propose(mounts: Mounts, given: Propose) -> Answer:
    """Files a proposal; nothing else changes."""
    text, id = optional(given.text), optional(given.id)
    if text is not None and not given.unverified:
        refuse_repeats(text)
    writer = mounts.lowered("unverified") if given.unverified else mounts
    quote = quoting.of_user(mounts, optional(given.quote), id=id, mount=optional(given.memory))
    made = writer.propose(
        text,
        id=id,
        key=optional(given.key),
        about=optional(given.about),
        reason=optional(given.reason),
        evidence=(*given.evidence, *quote.found),
        mount=optional(given.memory),
    )
    return Proposed(
        id=made.value.id,
        date=made.value.at[:10],
        trust=made.value.trust,
        memory=made.mount,
        intent=made.value.intent,
        note="; ".join(quote.notes),
    )


def review_list(mounts: Mounts, given: ReviewList) -> Answer:
    """What waits for a person. It is only shown: a model must not approve its own writes."""
    found = [
        Mounted(mount=mount, value=one)
        for mount, memory in mounts.readers()
        for one in memory.review.list(limit=given.limit + 1)
    ]
    found.sort(key=lambda one: one.value.at)  # the longest waiting first, in both mounts
    listed = [_waiting(one) for one in found[: given.limit]]
    return Queue(
        waiting=tuple(one for one in listed if one.is_trusted),
        unverified=tuple(one for one in listed if not one.is_trusted),
        more=len(found) > given.limit,
    )


def _waiting(mounted: Mounted[Proposal]) -> Waiting:
    one, trusted = mounted.value, mounted.value.trust != "unverified"
    words = UNSET if one.text is None else shown(one.text)
    return Waiting(
        id=one.id,
        date=one.at[:10],
        trust=one.trust,
        memory=mounted.mount,
        intent=one.intent,
        text=words if trusted else UNSET,
        quoted=UNSET if trusted else words,
        reason=shown(one.reason) if trusted and one.reason else UNSET,
        now=UNSET if one.before is None else found(mounted.mount, one.before),
        stale=one.stale,
        note=note([one.text or "", one.reason or ""]) or UNSET,
    )


REVIEWING: Final = (
    Tool(
        name="propose",
        about=(
            "Ask the user to add, change or forget something that you may not change yourself. It "
            "waits until they review it."
        ),
        takes=Propose,
        answers=Proposed,
        run=propose,
    ),
    Tool(
        name="review_list",
        about="List what waits for the user's review. Only a person can approve it.",
        takes=ReviewList,
        answers=Queue,
        run=review_list,
        reads=True,
    ),
)
