"""The verb that erases: shown first, confirmed, and told what remains.

Responsible for what a person sees before and after. Leaves choosing and erasing to ``Memory``.
Invariants: nothing is erased unless a person confirms; what is erased is what was shown; what
remains of a key is always told; a certificate overwrites no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from recollect.assistants.mounted import Mount
from recollect.errors import Ambiguous, Changed, InvalidInput, NotFound, RecollectError
from recollect.interfaces.cli import options as o
from recollect.interfaces.cli import plain
from recollect.interfaces.cli.call import Call, verb
from recollect.interfaces.cli.daily.undo import MaybeId
from recollect.interfaces.cli.declare import Option
from recollect.interfaces.cli.proof.proofs import new_file, write_new
from recollect.memory import Memory
from recollect.model.counts import counted
from recollect.model.values import INCLUDES, Erasure, Record

Key = Annotated[
    str | None, Option(metavar="KEY", help="The value of a key, with all its earlier values.")
]
About = Annotated[str | None, Option(metavar="NAME", help="Every record about this.")]
User = Annotated[
    str | None,
    Option(metavar="NAME", help="Everything of a user; with another option, only what is theirs."),
]
Subject = Annotated[
    str | None,
    Option(metavar="NAME", help="Everything of a user, and the key that it is encrypted with."),
]
Author = Annotated[
    str | None,
    Option(metavar="NAME", help="The name of who acted; what they wrote and approved stays."),
]
CertificateFile = Annotated[
    str | None, Option(metavar="FILE", help="Of a subject: write a signed certificate here.")
]
Expired = Annotated[
    bool,
    Option(
        "--expired",
        help="The records that expired longer ago than `settings retention` keeps them.",
    ),
]
Unit = Annotated[Literal["record", "episode"], Option(help="What --filter chooses.")]
_LISTED_MAX_COUNT: Final = 10
_OPTION: Final = "--certificate"


@verb
def erase(
    call: Call,
    id: MaybeId = None,
    key: Key = None,
    about: About = None,
    user: User = None,
    filter: o.Filter = None,
    subject: Subject = None,
    author: Author = None,
    expired: Expired = False,
    certificate: CertificateFile = None,
    unit: Unit = "record",
    reason: o.Reason = None,
    keep_sources: o.KeepSources = False,
    dry_run: o.DryRun = False,
    yes: o.Yes = False,
    mount: o.MountOption = None,
) -> None:
    """Delete every byte of what is named, permanently."""
    others = (id, key, about, filter, subject, author)
    if expired:
        beside = (certificate, keep_sources, reason, user, *others)
        _erase_expired(call, mount, beside, dry_run=dry_run, yes=yes)
        return
    is_whole = all(each is None for each in others)
    whole, theirs = (user, None) if is_whole else (None, user)
    target = None if certificate is None else new_file(certificate, _OPTION)
    named: dict[str, Any] = {"id": id, "key": key, "about": about, "user": whole, "filter": filter}
    named |= {"subject": subject, "author": author, "unit": unit}
    with call.memories(mount) as found:
        choice = partial(_erase, **named, sources=not keep_sources)
        memories = [memory.scoped(user=theirs) for _, memory in found]
        memory, planned, position = _holder(memories, choice)
        if dry_run:
            call.answer(planned, partial(_planned, memory), memory)
            return
        if not yes and not call.json:
            _preview(memory, planned)
        call.confirm(f"Erase {_what(planned)} permanently?", yes=yes, what="erasing")
        more = {"id": planned.id, "reason": reason, "certificate": certificate is not None}
        with call.progress("Erasing") as tick:
            order = partial(choice, memory, progress=tick, **more)
            erasure = order() if yes else _as_shown(order, position)
        if target is not None and erasure.certificate is not None:
            _keep(erasure.certificate, target)
        key = key or _key_of(memory, erasure)
        call.answer(erasure, lambda _: _erased(erasure, key), memory)


def _erase_expired(
    call: Call, mount: Mount | None, beside: Sequence[object], *, dry_run: bool, yes: bool
) -> None:
    """Erases the records that expired longer ago than they are to be kept."""
    if any(each not in (None, False) for each in beside):
        raise InvalidInput(
            "--expired chooses what is erased by itself",
            hint="run `recollect erase --expired --dry-run` first",
        )
    with call.memory(mount=mount) as memory:
        planned = memory.erase(expired=True, dry_run=True)
        if dry_run or not planned.events:
            call.answer(planned, lambda _: _expired(memory, planned, done=False), memory)
            return
        if not yes and not call.json:
            plain.say_to_stderr(*lines_of(memory, planned))
        question = f"Erase {plain.amounts(planned)} that expired permanently?"
        call.confirm(question, yes=yes, what="erasing")
        with call.progress("Erasing") as tick:
            done = memory.erase(expired=True, progress=tick)
        call.answer(done, lambda _: _expired(memory, done, done=True), memory)


def _expired(memory: Memory, value: Erasure, *, done: bool) -> None:
    days = memory.settings.retention()
    if days is None:
        plain.say("Expired records are kept: no retention is set.")
        plain.next_step("recollect settings retention 30")
    elif not value.events:
        plain.say(f"Nothing expired more than {counted(days, 'day')} ago.")
    elif done:
        plain.erasure(value)
    else:
        plain.say(f"Would erase {plain.amounts(value)}:", *lines_of(memory, value))


def _keep(certificate: str, target: Path) -> None:
    """Writes a certificate; one that cannot be written is shown, as it is made only once."""
    try:
        write_new(target, [certificate.encode()], _OPTION)
    except RecollectError:
        plain.say_to_stderr(
            "The erasure is done. This is its certificate:", *certificate.splitlines()
        )
        raise


def _erase(memory: Memory, **options: Any) -> Erasure:
    return memory.erase(**options)  # of this memory's own class: it may be a service's


def _holder(memories: list[Memory], choice: partial[Erasure]) -> tuple[Memory, Erasure, int]:
    """The one memory that has what is named, what would be erased there, and its position."""
    found: list[tuple[Memory, Erasure, int]] = []
    missing: NotFound | None = None
    for memory in memories:
        try:
            position = memory.events.position  # read first: what is written after it is noticed
            found.append((memory, choice(memory, dry_run=True), position))
        except NotFound as error:
            missing = missing or error
    if len(found) > 1:
        raise Ambiguous(
            "both the project's memory and your own have something of this",
            hint="choose one with --memory project or --memory personal",
        )
    if missing is not None and not found:
        raise missing
    return found[0]


def _as_shown(order: partial[Erasure], position: int) -> Erasure:
    """Erases unless something was written since it was shown."""
    try:
        return order(expect=position)
    except Changed as error:
        raise Changed(
            "the memory has changed since this was shown, so nothing was erased",
            hint="run the command again: it shows what is there now",
        ) from error


def _what(planned: Erasure) -> str:
    return "this" if planned.id else plain.amounts(planned) or "the key of this subject"


def _preview(memory: Memory, planned: Erasure) -> None:
    """Prints what would be erased to stderr, so that stdout holds only the answer."""
    plain.say_to_stderr(*lines_of(memory, planned))


def _planned(memory: Memory, planned: Erasure) -> None:
    plain.say(f"Would erase {plain.amounts(planned) or planned.id}:", *lines_of(memory, planned))
    _remains(planned, _key_of(memory, planned))


def lines_of(memory: Memory, planned: Erasure) -> list[str]:
    """Each record with its versions, then each episode; of many only the first."""
    ids = dict.fromkeys((planned.id or "", *planned.records, *planned.episodes))
    lines: list[str] = []
    for id in [id for id in ids if id][:_LISTED_MAX_COUNT]:
        value = memory.get(id, include=INCLUDES)
        versions = memory.history(id) if isinstance(value, Record) else ()
        with_all = f"  with its {counted(len(versions), 'version')}" if versions else ""
        lines.append(f"  {plain.one_line(id)}: {plain.one_line(value.text)}{with_all}")
    more = len(ids) - len(lines) - ("" in ids)
    return [*lines, *([f"  and {more:,} more"] if more > 0 else [])]


def _key_of(memory: Memory, planned: Erasure) -> str | None:
    """The key of what remains, if all of it has the same one."""
    values = [memory.get(id, include=INCLUDES) for id in planned.remaining[:_LISTED_MAX_COUNT]]
    keys = {value.key for value in values if isinstance(value, Record)}
    return keys.pop() if len(keys) == 1 else None


def _erased(erasure: Erasure, key: str | None) -> None:
    plain.erasure(erasure)
    if erasure.certificate is not None:
        plain.say("  A certificate was signed.")
    if erasure.uncertified is not None:
        plain.say(f"  {plain.safe(erasure.uncertified)}")
    _remains(erasure, key)


def _remains(erasure: Erasure, key: str | None) -> None:
    """What is still there of the same keys, and how to erase it; then reasons for a replacement."""
    _of_keys(erasure, key)
    for id in erasure.reasons[:_LISTED_MAX_COUNT]:
        plain.say(f"  The reason that was given for replacing {id} remains with it.")
        plain.next_step(f"recollect erase {id}")
    more = len(erasure.reasons) - _LISTED_MAX_COUNT
    if more > 0:
        plain.say(f"  So do {more:,} more.")
    if erasure.naming:
        plain.say("  These still name the person in their text:")
        plain.say(*(f"    {id}" for id in erasure.naming[:_LISTED_MAX_COUNT]))
        if len(erasure.naming) > _LISTED_MAX_COUNT:
            plain.say(f"    and {len(erasure.naming) - _LISTED_MAX_COUNT:,} more")
        plain.next_step(f"recollect show {erasure.naming[0]}")


def _of_keys(erasure: Erasure, key: str | None) -> None:
    of_key = f" of {plain.one_line(key)}" if key else ""
    unit = f"earlier value{'' if len(erasure.remaining) == 1 else 's'}" if key else None
    found = [
        f"{len(erasure.remaining):,} {unit}{of_key}"
        if unit
        else counted(len(erasure.remaining), "record"),
        counted(len(erasure.kept), "episode"),
    ]
    there = [
        words for words, ids in zip(found, (erasure.remaining, erasure.kept), strict=True) if ids
    ]
    if not there:
        return
    is_one = len(erasure.remaining) + len(erasure.kept) == 1
    plain.say(f"  {' and '.join(there)} {'remains' if is_one else 'remain'}:")
    plain.say(*(f"    {id}" for id in (*erasure.remaining, *erasure.kept)[:_LISTED_MAX_COUNT]))
    if key:
        plain.next_step(f"recollect erase --key {plain.one_line(key)}")
