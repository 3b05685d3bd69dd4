"""The calls that write and that no operation has as they are: messages, batches, erasing.

Responsible for what their arguments mean. Leaves the others to ``client.calls``. Invariant:
signatures and documentation are those of the plain API.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from recollect.client.asking import Calls, value_of
from recollect.client.batch import Batch, Send, messages
from recollect.client.kinds import Expect, Progress
from recollect.client.looking import position_of
from recollect.errors import InvalidInput, NotFound
from recollect.model import validate
from recollect.model.events import Role
from recollect.model.instants import Moment
from recollect.model.messages import Content
from recollect.model.validate import Json
from recollect.model.values import Context, Episode, Erasure, Include, Record, Undone, Unit

_EVERYTHING: Final[tuple[Include, ...]] = (
    "replaced", "forgotten", "hidden", "waiting", "expired", "archived",
)  # fmt: skip
_ONE_OF: Final = (
    "erase takes exactly one of id, key, about, user, filter, subject, author and expired"
)


class Changing(Calls):
    """Observe, batch, undo, erase, used."""

    def observe(
        self,
        content: Content,
        *,
        role: Role = "user",
        session: str | None = None,
        said_at: Moment | None = None,
        metadata: Mapping[str, Json] | None = None,
        id: str | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> list[Episode]:
        """Store what was seen or said, verbatim, as episodes.

        The arguments are those of ``recollect.Memory.observe``.
        """
        shared = {"session": session, "said_at": said_at, "metadata": metadata, "id": id}
        answer: list[Episode] = self._do(
            "observe",
            list[Episode],
            {"messages": messages(content, role, shared)},
            idempotency_key=idempotency_key,
            expect=expect,
        )
        return answer

    def batch(self, *, idempotency_key: str | None = None, expect: Expect | None = None) -> Batch:
        """Several writes that happen together or not at all, with one fsync.

        The arguments are those of ``recollect.Memory.batch``.
        """
        return Batch(self._sender(idempotency_key, expect))

    def _sender(self, key: str | None, expect: Expect | None) -> Send:
        """What sends the acts of a batch."""

        def send(acts: list[dict[str, Any]]) -> list[Record | Episode]:
            answer = self._remote.ask("batch", {"acts": acts}, key=key, expect=expect)
            found: list[Record | Episode] = value_of(answer, list[Record | Episode])
            return found

        return send

    def undo(
        self,
        what: str | int | None = None,
        *,
        to: int | Moment | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Undone:
        """Take back the last command, a command of before, or a change of one record.

        The arguments are those of ``recollect.Memory.undo``.
        """
        if what is not None and not isinstance(what, str):
            what = validate.position(what, "an event to undo")
        if to is not None and not isinstance(what, str):
            raise InvalidInput(
                "to is a version of one record", hint="name the record: undo(id, to=…)"
            )
        fields: dict[str, Any] = {"dry_run": validate.flag(dry_run, "dry_run")}
        fields |= {"id": what, "to": to} if isinstance(what, str) else {"position": what}
        answer: Undone = self._do(
            "undo_one" if isinstance(what, str) else "undo",
            Undone,
            fields,
            idempotency_key=idempotency_key,
            expect=expect,
        )
        return answer

    def erase(
        self,
        id: str | None = None,
        *,
        key: str | None = None,
        about: str | None = None,
        user: str | None = None,
        filter: str | None = None,
        subject: str | None = None,
        author: str | None = None,
        expired: bool = False,
        certificate: bool = False,
        unit: Unit = "record",
        sources: bool = True,
        reason: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> Erasure:
        """Remove every byte of records, episodes and receipts from this memory, for good.

        The arguments are those of ``recollect.Memory.erase``. Without ``expect`` it is what the
        memory says just before: what changes in between is not erased.
        """
        chosen = {
            "key": key,
            "about": about,
            "user": user,
            "filter": filter,
            "subject": subject,
            "author": author,
        }
        named = sum(each is not None for each in (id, *chosen.values()))
        if named + validate.flag(expired, "expired") != 1:
            raise InvalidInput(_ONE_OF, hint="name one of them")
        if unit != "record" and filter is None:
            raise InvalidInput("unit is of a filter", hint="erase with filter=, or leave unit out")
        for name, flag in (
            ("sources", sources),
            ("dry_run", dry_run),
            ("certificate", certificate),
        ):
            validate.flag(flag, name)
        how = {"sources": sources, "reason": reason, "dry_run": dry_run}
        if expect is None and not dry_run and not expired:
            expect = self._as_it_is(id, idempotency_key)
        fields = (
            {**chosen, **how, "expired": expired, "certificate": certificate, "unit": unit}
            if id is None
            else {"id": id, **how}
        )
        name = "erase_many" if id is None else "erase"
        answer: Erasure = self._do(
            name, Erasure, fields, idempotency_key=idempotency_key, expect=expect
        )
        return answer

    def _as_it_is(self, id: str | None, key: str | None) -> Expect:
        """What an erasure expects, if its caller does not say."""
        if id is None:
            return position_of(self._remote)
        try:
            found = self._do("get", Record | Episode, {"id": id, "include": _EVERYTHING})
        except NotFound:
            if key is None:
                raise
            return id, 0  # it may be gone because of this key: then the first answer is given
        return found.id, found.seq

    def used(
        self,
        context: Context | str | None,
        ids: Iterable[str] | None = None,
        *,
        idempotency_key: str | None = None,
        expect: Expect | None = None,
    ) -> list[Record]:
        """Report which of the packed records were useful; this, not recall, reinforces them.

        The arguments are those of ``recollect.Memory.used``.
        """
        wanted = None if ids is None else list(ids)
        if isinstance(context, str):
            name, fields = "used", {"receipt": context, "ids": wanted}
        else:
            name, fields = "useful", {"ids": _named(context, wanted)}
            if not fields["ids"]:
                return []
        answer: list[Record] = self._do(
            name, list[Record], fields, idempotency_key=idempotency_key, expect=expect
        )
        return answer


def _named(context: Context | None, ids: list[str] | None) -> list[str]:
    packed = () if context is None else context.ids
    wanted = list(packed) if ids is None else ids
    stray = sorted(set(wanted).difference(packed))
    if context is not None and stray:
        raise InvalidInput(f"{stray[0]} was not in that context")
    return wanted
