"""The fields of a record: the one list of what ``remember`` takes besides the text.

Responsible for their names, their types, and the check that each passes. Leaves what they mean to
``Memory.remember``, which documents them, and to ``lifecycle.records``. Invariant: every place that
takes these fields (a batch, a mount, the command line, a tool) takes them from here, and a test
names the place that forgot one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from typing import Any, Final, TypedDict, cast, get_args

from msgspec import UNSET, UnsetType

from recollect.errors import InvalidInput, LimitExceeded
from recollect.model import limits, validate
from recollect.model.events import SourceType
from recollect.model.instants import Moment, dated, later
from recollect.model.validate import Json
from recollect.model.values import Quote
from recollect.model.words import COLUMNS

Checked = dict[str, Any]


class RecordFields(TypedDict, total=False):
    """What a record is given besides its text. A field that is left out or None is not set."""

    key: str | None
    about: str | None
    kind: str | None
    tags: Iterable[str] | None
    data: Mapping[str, Json] | None
    confidence: float | None
    evidence: Iterable[str | Quote]
    expires: Moment | timedelta | None
    said_at: Moment | None
    valid_from: Moment | None
    valid_to: Moment | None
    how_known: SourceType | None
    is_hypothesis: bool | None
    replaces: str | None
    reason: str | None
    id: str | None


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


# How each field is checked; ``expires`` needs the clock, and ``evidence`` gives two fields.
_CHECKS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "key": lambda value: validate.name(value, "key"),
    "about": lambda value: validate.name(value, "about"),
    "kind": lambda value: validate.name(value, "kind"),
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


_NAMES: Final = RecordFields.__annotations__.keys()


def checked(fields: RecordFields, now: str) -> Checked:
    """The fields that are set, each checked, by their names in ``lifecycle.commands.Remember``."""
    given: Mapping[str, Any] = fields
    if not given.keys() <= _NAMES:
        unknown = min(given.keys() - _NAMES)
        raise TypeError(f"remember() got an unexpected keyword argument {unknown!r}")
    found: Checked = {"id": None}
    for name, value in given.items():
        if value is not None and name in _CHECKS:
            found[COLUMNS.get(name, name)] = _CHECKS[name](value)
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
