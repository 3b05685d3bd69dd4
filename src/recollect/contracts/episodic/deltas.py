"""The four deltas: what a rule found that should be believed, and why.

Responsible for their fields and for the provenance that each must have. Leaves making them to
``consolidation`` and applying them to ``facts``. Invariant: a delta whose provenance is missing or
malformed can neither be made nor applied.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, Literal

from recollect.contracts.episodic.errors import ConsolidationRuleError
from recollect.contracts.episodic.models import Model, ToldApartBy
from recollect.contracts.episodic.values import instant_of
from recollect.errors import InvalidInput
from recollect.model import validate
from recollect.model.limits import EVIDENCE_MAX_COUNT


@dataclass(frozen=True, kw_only=True)
class _Delta(Model):
    """The provenance that every delta has."""

    kind: str
    source_episode_ids: list[str]
    promotion_ts: datetime
    rule_id: str
    confidence: float

    def __post_init__(self) -> None:
        check(self)


@dataclass(frozen=True, kw_only=True)
class AddDelta(_Delta):
    """A new fact."""

    kind: Literal["add"] = "add"
    fact_payload: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class UpdateDelta(_Delta):
    """A new fact in place of others."""

    kind: Literal["update"] = "update"
    replaces: list[str]
    fact_payload: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class DeleteDelta(_Delta):
    """Facts that no longer hold."""

    kind: Literal["delete"] = "delete"
    replaces: list[str]


@dataclass(frozen=True, kw_only=True)
class NoopDelta(_Delta):
    """An episode that was looked at and changes nothing; for the audit only."""

    kind: Literal["noop"] = "noop"


MemoryDelta = Annotated[AddDelta | UpdateDelta | DeleteDelta | NoopDelta, ToldApartBy("kind")]
_KINDS = {"add": AddDelta, "update": UpdateDelta, "delete": DeleteDelta, "noop": NoopDelta}


def check(delta: _Delta) -> None:
    """Refuses a delta without complete provenance."""
    try:
        _check(delta)
    except InvalidInput as error:
        raise ConsolidationRuleError(
            f"a delta is malformed: {error.message}", hint=error.hint
        ) from error


def _check(delta: _Delta) -> None:
    if _KINDS.get(delta.kind) is not type(delta):
        raise InvalidInput(f"kind cannot be {validate.shown(delta.kind)}")
    validate.identifier(delta.rule_id, "rule_id")
    _check_ids(delta.source_episode_ids, "source_episode_ids")
    instant_of(delta.promotion_ts, "promotion_ts")
    validate.fraction(delta.confidence, "confidence")
    if isinstance(delta, UpdateDelta | DeleteDelta):
        _check_ids(delta.replaces, "replaces")
    if isinstance(delta, AddDelta | UpdateDelta):
        _check_payload(delta.fact_payload)


def _check_payload(payload: object) -> None:
    if not isinstance(payload, dict):
        raise InvalidInput(f"fact_payload must be a dict, not {type(payload).__name__}")
    validate.data({name: payload[name] for name in payload if name != "content"}, "fact_payload")
    validate.text(text_of(payload), "content")


def text_of(payload: dict[str, Any]) -> str:
    """What a fact says: the content of its payload, else its triple."""
    triple = [payload.get(name) for name in ("subject", "predicate", "object")]
    text: object = payload.get("content")
    if text is None and None not in triple:
        text = " ".join(map(str, triple))
    if not isinstance(text, str):
        raise InvalidInput("fact_payload needs a content, or a subject, predicate and object")
    return text


def _check_ids(ids: object, what: str) -> None:
    if not isinstance(ids, list) or not ids:
        raise InvalidInput(f"{what} must be a list with at least one id")
    if len(ids) > EVIDENCE_MAX_COUNT:
        raise InvalidInput(f"{what} has more than {EVIDENCE_MAX_COUNT} ids")
    for id in ids:
        validate.identifier(id, f"an id in {what}")
