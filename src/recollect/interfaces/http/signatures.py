"""Requests made from the signatures of calls, and the one list of limits.

Responsible for what a request takes: the parameters of the call that it leads to, each with the
limit that its name has here, or that its type has. Leaves requests that differ from a call to
``shapes`` and ``further``. Invariants: an unknown field is refused; a field that is left out is not
passed on, so the defaults are those of ``Memory``; null is taken only where it has a meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from inspect import Parameter, signature
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Meta, UnsetType

from recollect.model import limits
from recollect.model.values import Quote

Text = Annotated[str, Meta(min_length=1, max_length=limits.TEXT_MAX_BYTES)]
Name = Annotated[str, Meta(min_length=1, max_length=limits.NAME_MAX_CHARS)]
Id = Annotated[str, Meta(min_length=1, max_length=limits.ID_MAX_CHARS)]
Reason = Annotated[str, Meta(max_length=limits.REASON_MAX_CHARS)]
Query = Annotated[str, Meta(max_length=limits.TEXT_MAX_BYTES)]
FilterText = Annotated[str, Meta(max_length=limits.FILTER_MAX_CHARS)]
Moment = Annotated[str, Meta(max_length=64, description="An instant or a date, ISO 8601.")]
Tags = Annotated[list[Name], Meta(max_length=limits.TAGS_MAX_COUNT)]
# Names and quotes have a limit each, which the memory checks.
Evidence = Annotated[list[Id | Quote], Meta(max_length=2 * limits.EVIDENCE_MAX_COUNT)]
Data = dict[str, Any]
Share = Annotated[float, Meta(ge=0, le=1)]
Weight = Annotated[float, Meta(ge=0)]
Hits = Annotated[int, Meta(ge=1, le=limits.RECALL_MAX_HITS)]
Tokens = Annotated[int, Meta(ge=1, le=limits.CONTEXT_MAX_TOKENS)]
Ids = Annotated[list[Id], Meta(max_length=1_000)]
Many = Annotated[int, Meta(ge=1, le=limits.LIST_MAX_RECORDS)]

Position = Annotated[int, Meta(ge=0, le=limits.INTEGER_MAX)]

# What a parameter of this name takes. One that is not here takes what its type says: a text is a
# name, a number a position, an instant a text of ISO 8601, and several of them are a list.
_LIMITS: Final[dict[str, Any]] = {
    "text": Text,
    "query": Query,
    "filter": FilterText,
    "reason": Reason,
    "tags": Tags,
    "untag": Tags,
    "evidence": Evidence,
    "data": Data,
    "confidence": Share,
    "min_relevance": Share,
    "below": Share,
    "weight": Weight,
    "k": Hits,
    "tokens": Tokens,
    "limit": Many,
    "ids": Ids,
} | dict.fromkeys(("id", "source", "target", "replaces", "a", "b"), Id)
# Arguments that stay here, or that are sent as headers.
_NOT_SENT: Final = (
    "self",
    "counter",
    "progress",
    "idempotency_key",
    "expect",
)
_PLAIN: Final[dict[Any, Any]] = {str: Name, int: Position}
_INSTANTS: Final = {datetime, date, timedelta}


def request(
    name: str,
    call: Callable[..., Any],
    about: str,
    *,
    base: type[msgspec.Struct],
    leave_out: tuple[str, ...] = (),
    act: str | None = None,
) -> Any:
    """A request with the parameters of a call; with ``act``, as a part of a batch.

    Args:
        name: What it is called in the description of the service.
        call: The call.
        about: What is said of it there.
        base: Has the parameters that the call does not have.
        leave_out: Parameters that are in the address, or that are not offered.
        act: The word that tells it from the other acts.
    """
    types = get_type_hints(call)
    fields = [
        _field(each, types[each.name])
        for each in signature(call).parameters.values()
        if each.name not in (*_NOT_SENT, *leave_out)
    ]
    tag_field = None if act is None else "act"
    words = {"__doc__": about}
    return msgspec.defstruct(
        name, fields, bases=(base,), namespace=words, kw_only=True, tag_field=tag_field, tag=act
    )


def several(kind: Any) -> Any:
    """A list of these."""
    return list[kind]


def _field(each: Parameter, annotation: Any) -> Any:
    """The name, the type and the default of a field."""
    kind = _LIMITS[each.name] if each.name in _LIMITS else _sent_as(annotation)
    if each.default is Parameter.empty:
        return each.name, kind
    wanted = kind | None if each.default is UNSET else kind
    return each.name, wanted | UnsetType, UNSET


def _sent_as(annotation: Any) -> Any:
    """How a value of a type is sent."""
    parts = [part for part in get_args(annotation) if part not in (type(None), UnsetType)]
    if _INSTANTS & set(parts):
        return Moment
    if len(parts) == 1 and get_origin(annotation) is not Iterable:
        annotation = parts[0]
    if get_origin(annotation) is Iterable:
        return several(_sent_as(get_args(annotation)[0]))
    return _PLAIN.get(annotation, annotation)
