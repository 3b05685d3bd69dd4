"""From episodes to intents: what each episode asks to be believed, by its metadata.

Responsible for reading the metadata keys ``intent``, ``replaces``, ``key``, ``subject``,
``predicate`` and ``object``. Leaves whether a change is allowed to ``lifecycle.deriving``.
Invariant: pure; every episode gives one intent, or one reason why it gives none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Final, NamedTuple, cast

from recollect.model.events import Intent
from recollect.model.validate import Json, shown

INTENTS: Final = ("add", "update", "delete", "noop")


class Heard(NamedTuple):
    """An episode as a rule reads it."""

    id: str
    text: str
    metadata: Mapping[str, Json] = {}
    user: str | None = None


class Intended(NamedTuple):
    """What an episode asks for; ``replaces`` names records, keys, or episodes that they rest on."""

    episode: str
    intent: Intent
    text: str  # as a statement: the triple if there is a whole one, else what was said
    key: str | None = None
    about: str | None = None
    replaces: tuple[str, ...] = ()
    triple: tuple[str, str, Json] | None = None  # subject, predicate, object


class Unfit(NamedTuple):
    """An episode whose metadata cannot be read, and why."""

    episode: str
    reason: str


Seen = MutableMapping[tuple[str | None, str], str]  # the last episode for each user and key


def intended(episodes: Iterable[Heard], seen: Seen) -> Iterator[Intended | Unfit]:
    """The intent of each episode, in order.

    ``seen`` is what the pass met so far, and is updated: an episode whose key was met before is an
    update of that earlier episode.
    """
    for episode in episodes:
        try:
            found = _intent(episode)
        except _Unreadable as error:
            yield Unfit(episode.id, str(error))
            continue
        if found.key is not None and found.intent in ("add", "update"):
            named = (episode.user, found.key)
            if named in seen and not found.replaces:
                found = found._replace(intent="update", replaces=(seen[named],))
            seen[named] = episode.id
        yield found


def key_of(subject: str, predicate: str) -> str:
    """The key of a triple. A dot in the subject is escaped, so that no two triples share a key."""
    return f"{subject.replace(chr(92), chr(92) * 2).replace('.', chr(92) + '.')}.{predicate}"


class _Unreadable(ValueError):
    """Metadata that says nothing that can be done."""


def _intent(episode: Heard) -> Intended:
    metadata = episode.metadata
    asked = metadata.get("intent")
    if asked is not None and asked not in INTENTS:
        raise _Unreadable(f"intent is {shown(asked)}, not one of {', '.join(INTENTS)}")
    subject, predicate = _word(metadata, "subject"), _word(metadata, "predicate")
    key = _word(metadata, "key")
    triple = None
    if subject is not None and predicate is not None:
        triple = (subject, predicate, _object(metadata))
        key = key_of(subject, predicate) if key is None else key
    replaces = _replaced(metadata)
    if asked == "delete" and not replaces and key is None:
        raise _Unreadable("intent is 'delete', and neither replaces nor key says of what")
    has_target = asked == "update" and (replaces or key)
    intent = "add" if asked is None or (asked == "update" and not has_target) else asked
    return Intended(
        episode=episode.id,
        intent=cast(Intent, intent),
        text=episode.text if triple is None or triple[2] is None else _statement(*triple),
        key=key,
        about=subject,
        replaces=replaces,
        triple=triple,
    )


def _word(metadata: Mapping[str, Json], name: str) -> str | None:
    value = metadata.get(name)
    if value is None:
        return None
    if not isinstance(value, str) or not value.strip():
        raise _Unreadable(f"{name} is {shown(value)}, not a word")
    return value.strip()


def _object(metadata: Mapping[str, Json]) -> Json:
    value = metadata.get("object")
    if isinstance(value, dict | list) or (isinstance(value, str) and not value.strip()):
        raise _Unreadable(f"object is {shown(value)}, not a value")
    return value


def _replaced(metadata: Mapping[str, Json]) -> tuple[str, ...]:
    value = metadata.get("replaces")
    named = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(named, list) or not all(isinstance(one, str) and one for one in named):
        raise _Unreadable(f"replaces is {shown(value)}, not an id or a list of ids")
    return tuple(dict.fromkeys(cast("list[str]", named)))


def _statement(subject: str, predicate: str, value: Json) -> str:
    said = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{subject} {predicate.replace('_', ' ')} {said}"
