"""The fields of a record, checked.

Responsible for the check that each field passes. Leaves their list to ``model.record_fields``,
which is made from the signatures of ``memory.writing``, and what they mean to ``lifecycle``.
Invariant: a field without a check of its own is a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, cast, get_args

from msgspec import UNSET, UnsetType

from recollect.errors import InvalidInput, LimitExceeded
from recollect.model import limits, validate
from recollect.model.events import NOTED, SourceType
from recollect.model.instants import Moment, dated, later
from recollect.model.record_fields import RecordFields, RevisedFields
from recollect.model.values import Quote
from recollect.model.words import COLUMNS

Checked = dict[str, Any]


def tags(value: Iterable[str]) -> tuple[str, ...]:
    """Checked tags, each once."""
    return validate.names(value, "tags", at_most=limits.TAGS_MAX_COUNT) if value else ()


def evidence(value: Iterable[str | Quote]) -> Checked:
    """The names of what a record rests on, each once, and the quotes, if there are any."""
    if not value:
        return {"evidence": ()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        value = list(value)
        quotes = [one for one in value if isinstance(one, Quote)]
    else:
        quotes = []  # refused below
    names = [one.episode if isinstance(one, Quote) else one for one in value] if quotes else value
    found: Checked = {
        "evidence": validate.names(
            cast(Iterable[str], names), "evidence", at_most=limits.EVIDENCE_MAX_COUNT
        )
    }
    if quotes:
        found["quotes"] = _quotes(quotes)
    return found


def _quotes(given: list[Quote]) -> tuple[Quote, ...]:
    if len(given) > limits.EVIDENCE_MAX_COUNT:  # several may be of one episode
        raise LimitExceeded(f"more than {limits.EVIDENCE_MAX_COUNT} quotes")
    return tuple(dict.fromkeys(map(_quote, given)))


def _quote(given: Quote) -> Quote:
    words = validate.text(given.words, "a quote")
    if len(words) > limits.QUOTE_MAX_CHARS:
        raise LimitExceeded(
            f"a quote is longer than {limits.QUOTE_MAX_CHARS:,} characters",
            hint="quote the sentence that says it",
        )
    return Quote(validate.name(given.episode, "the episode of a quote"), words)


def how_known(value: SourceType) -> SourceType:
    """How a statement came to be known."""
    allowed = get_args(SourceType)
    if value not in allowed:
        raise InvalidInput(f"how_known must be one of {', '.join(allowed)}, not {value!r}")
    return cast(SourceType, validate.plain(value, "how_known"))


def end_of(expires: Moment | timedelta, now: str) -> str:
    """The instant at which something expires, given as an instant or as a span from now."""
    if isinstance(expires, int | float):
        raise InvalidInput(
            f"expires must be a date, an instant or a timedelta, not {validate.shown(expires)}",
            hint=f"pass timedelta(days={validate.shown(expires)})",
        )
    end = dated(later(now, expires) if isinstance(expires, timedelta) else expires)
    if end <= now:
        raise InvalidInput(
            f"expires: {end} is in the past",
            hint="pass a later instant; valid_to says until when a statement was true",
        )
    return end


def span_us(expires: Moment | timedelta | None) -> int | UnsetType:
    """The span that an end was given as, if it was given as one."""
    return expires // timedelta(microseconds=1) if isinstance(expires, timedelta) else UNSET


# How the fields are checked that are not names.
_CHECKS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "tags": tags,
    "data": validate.data,
    "confidence": lambda value: validate.fraction(value, "confidence"),
    "said_at": dated,
    "valid_from": dated,
    "valid_to": dated,
    "how_known": how_known,
    "is_hypothesis": lambda value: validate.flag(value, "is_hypothesis"),
    "replaces": validate.reference,
    "reason": validate.reason,
    "id": validate.identifier,
}


_TWO: Final = ("expires", "evidence")  # one needs the clock; each gives two fields of an act


def noted(fields: RevisedFields) -> Checked:
    """The fields of a correction that no rule looks at, each checked."""
    given: Mapping[str, Any] = validate.arguments("revise", fields, RevisedFields)
    found = ((name, given.get(name)) for name in NOTED)
    return {name: _check(name, value) for name, value in found if value is not None}


def _check(name: str, value: Any) -> object:
    return _CHECKS[name](value) if name in _CHECKS else validate.name(value, name)


def checked(fields: RecordFields, now: str) -> Checked:
    """The fields that are set, each checked, by their names in ``lifecycle.commands.Remember``."""
    given: Mapping[str, Any] = validate.arguments("remember", fields, RecordFields)
    found: Checked = {"id": None}
    for name, value in given.items():
        if value is not None and name not in _TWO:
            found[COLUMNS.get(name, name)] = _check(name, value)
    if given.get("reason") is not None and given.get("replaces") is None:
        raise InvalidInput(
            "reason says why a record is replaced, and none is named",
            hint="name it in replaces, or keep the reason in data",
        )
    if given.get("replaces") is not None and given.get("tags") is not None:
        found["untagged"] = True  # it has these tags alone, also if there are none
    if given.get("evidence"):
        found |= evidence(given["evidence"])
    expires = fields.get("expires")
    if expires is not None:
        found["expires"] = end_of(expires, now)
        found["expires_after_us"] = span_us(expires)
    return found
