"""Events whose keys are not here: which they are, and why they cannot be opened.

Responsible for looking, key by key. Leaves what to do about it to ``store.files.examine`` and
``store.files.repair``. Invariant: a key that was destroyed is not a lost one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from recollect.errors import ConfigError, IntegrityError, KeyMissing
from recollect.ledger.cipher import Ciphers
from recollect.ledger.erasure import lines_of
from recollect.ledger.line import parse, subject_of


class Lost(NamedTuple):
    """What cannot be opened here."""

    events: tuple[int, ...] = ()
    subjects: tuple[str, ...] = ()
    why: ConfigError | None = None  # of the first

    @property
    def is_for_good(self) -> bool:
        """True if keys are missing; False if a setting is wrong, which can be corrected."""
        return isinstance(self.why, KeyMissing)


def lost_keys(pieces: Iterable[bytes], ciphers: Ciphers) -> Lost:
    """The events with a body whose key cannot be had, whatever the reason; reads every line."""
    why: dict[str, ConfigError | None] = {}
    events = list[int]()
    for raw in lines_of(pieces):
        named = subject_of(raw)
        if named is None:
            continue
        seq, subject = named
        if subject not in why:
            why[subject] = _refused(raw, subject, ciphers)
        if why[subject] is not None:
            events.append(seq)
    errors = {subject: error for subject, error in why.items() if error is not None}
    first = next(iter(errors.values()), None)
    return Lost(tuple(events), tuple(errors), first)


def _refused(raw: bytes, subject: str, ciphers: Ciphers) -> ConfigError | None:
    """Why the key of a line's subject cannot be had; None if it can, or was destroyed."""
    try:
        ciphers.key(subject, parse(raw.removesuffix(b"\n")).cipher or 0)
    except ConfigError as error:
        return error
    except IntegrityError:
        return None  # not a line of a ledger: another check tells
    return None
