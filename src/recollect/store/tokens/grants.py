"""What a token allows in a space.

Responsible for the meaning of a token, on every engine. Leaves who holds which token to
``store.tokens``, and asking before every call to ``store.entered``. Invariant: a grant comes from
entering a space; callers do not create one.
"""

from __future__ import annotations

from typing import Final

import msgspec

from recollect.errors import Forbidden
from recollect.ledger.codec import decode
from recollect.ledger.line import Line
from recollect.lifecycle.commands import (
    Act,
    CloseBranch,
    Command,
    Erase,
    EraseAll,
    Name,
    Review,
)
from recollect.model.events import Origin, Trust
from recollect.model.rules import at_least
from recollect.model.values import Finding

WHOLE: Final = "use a token for the whole space, without a user"
_OWNER: Final = "use a token of the owner, whose trust is person"
_ANYBODYS: Final = ("space.opened", "ledger.sealed")
_OWNERS: Final = ("ledger.tail_cut", "ledger.loss_accepted", "events.erased")
_ERASES: Final = ("events.erased", "ledger.loss_accepted")  # as these need it here
_REVIEW: Final = "use a person's token with the verb review"
VERBS: Final = ("read", "write", "erase", "create", "drop", "review", "admin")


class Grant(msgspec.Struct, frozen=True):
    """The rights of a token in the space that was entered with it."""

    space: str
    verbs: frozenset[str]
    trust: Trust  # the highest trust of anything written with it
    user: str | None
    agent: str | None
    holder: Name | None = None  # who has the token

    def admitted(self, command: Command) -> Command:
        """The command in the name of who has the token, if the token allows it."""
        self.check(command)
        if self.holder is None or command.actor.name is None:
            return command
        actor = msgspec.structs.replace(command.actor, name=self.holder)
        return msgspec.structs.replace(command, actor=actor)

    def check(self, command: Command) -> None:
        """Refuses what the token does not allow."""
        self.check_writes()
        if (
            any(isinstance(act, Erase | EraseAll) for act in command.acts)
            and "erase" not in self.verbs
        ):
            raise Forbidden(f"this token may not erase in {self.space!r}")
        is_review = any(_reviews(act) for act in command.acts)
        if is_review and command.actor.trust == "person" and "review" not in self.verbs:
            raise Forbidden(f"this token may not review in {self.space!r}", hint=_REVIEW)
        if not at_least(self.trust, command.actor.trust):
            raise Forbidden(
                f"this token may write with trust {self.trust!r} at most",
                hint=f"use memory.scoped(trust={self.trust!r})",
            )
        for name in ("user", "agent"):
            mine, theirs = getattr(self, name), getattr(command.actor, name)
            if mine is not None and mine != theirs:
                raise Forbidden(f"this token may only write for the {name} {mine!r}")

    def check_writes(self) -> None:
        """Refuses a token that only reads."""
        if "write" not in self.verbs:
            raise Forbidden(f"this token may only read {self.space!r}")

    def check_trial(self) -> None:
        """Refuses to try a command with a token that only reads: rows are written for a moment."""
        if "write" not in self.verbs:
            raise Forbidden(
                f"this token may only read {self.space!r}, and reading on a branch needs the "
                "right to write",
                hint="`memory.branches.diff` shows what is on the branch",
            )

    def check_whole(self, what: str) -> None:
        """Refuses an operation that reads or folds the events of all users."""
        if self.user is not None:
            raise Forbidden(
                f"{what} needs the whole ledger, and this token is for the user {self.user!r} "
                "alone",
                hint=WHOLE,
            )

    def check_line(self, line: Line) -> None:
        """Refuses an event of another store that the token may not write unchanged."""
        self.check_writes()
        if self.user is not None or self.agent is not None:
            raise Forbidden(
                f"this token writes for {self.user or self.agent!r} alone, not a whole space",
                hint=_OWNER,
            )
        if line.kind in _ERASES and ("erase" not in self.verbs or self.trust != "person"):
            raise Forbidden(
                f"event {line.seq} erases, and this token may not erase in {self.space!r}",
                hint=_OWNER,
            )
        if "review" not in self.verbs and _is_review(line):
            raise Forbidden(
                f"event {line.seq} is a review, and this token may not review in {self.space!r}",
                hint=_REVIEW,
            )
        if not self._may_claim(line.origin, line.kind):
            raise Forbidden(
                f"event {line.seq} ({line.kind}) has the trust {line.origin!r}, "
                f"and this token allows {self.trust!r} at most",
                hint=_OWNER,
            )
        if line.subject is not None and self.trust != "person":
            raise Forbidden(
                f"event {line.seq} is encrypted, so its trust cannot be compared with this token's",
                hint=_OWNER,
            )
        trust = None if self.trust == "person" else getattr(decode(line).body, "trust", None)
        if trust is not None and not at_least(self.trust, trust):
            raise Forbidden(
                f"event {line.seq} ({line.kind}) holds the trust {trust!r}, "
                f"and this token allows {self.trust!r} at most",
                hint=_OWNER,
            )

    @property
    def keeps_checkpoints(self) -> bool:
        """True for a person's token that writes in the whole space."""
        is_whole = self.user is None and self.agent is None
        return is_whole and self.trust == "person" and "write" in self.verbs

    def check_keeps(self) -> None:
        """Refuses a token that may not keep checkpoints."""
        if not self.keeps_checkpoints:
            raise Forbidden(
                "this token may not keep checkpoints",
                hint="use a person's token that writes in the whole space",
            )

    def not_looked_at(self) -> Finding:
        """The finding of ``doctor`` for a token that cannot see the whole ledger."""
        return Finding(
            level="note",
            what="ledger",
            detail=f"not looked at: this token is for the user {self.user!r} alone",
            fix=WHOLE,
        )

    def check_drop(self) -> None:
        """Refuses a token that may not drop the space."""
        if not {"write", "drop"} <= self.verbs:
            raise Forbidden(
                f"this token may not drop {self.space!r}",
                hint="use the owner's login, or a token with the verb drop",
            )
        if self.trust != "person" or self.user is not None or self.agent is not None:
            raise Forbidden(f"dropping {self.space!r} needs a person's token", hint=_OWNER)

    def _may_claim(self, origin: Origin, kind: str) -> bool:
        """True if the token may write events of this origin."""
        if origin == "system":
            return kind in _ANYBODYS or (kind in _OWNERS and self.trust == "person")
        return at_least(self.trust, origin)


def _reviews(act: Act) -> bool:
    """True for what lets in or turns down what waits for a person."""
    return isinstance(act, Review) or (isinstance(act, CloseBranch) and act.how == "merged")


def _is_review(line: Line) -> bool:
    """True for an approval, for what lets a record in or turns it down, and for a merged branch."""
    if line.kind not in ("record.reviewed", "branch.closed"):
        return line.kind == "proposal.approved"
    if line.data is None:  # erased
        return False
    if line.subject is not None:
        return True
    body = decode(line).body
    if line.kind == "branch.closed":
        return getattr(body, "how", None) == "merged"
    return getattr(body, "verdict", None) != "reopened"
