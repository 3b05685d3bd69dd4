"""From episodes to intents: what each episode asks to be believed, by its metadata.

Responsible for reading the metadata keys ``intent``, ``replaces``, ``key``, ``subject``,
``predicate`` and ``object``. Leaves whether a change is allowed to
``lifecycle.proposals.derived``. Invariant: pure; every episode gives one intent, or one reason why
it gives none.
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
        problem = _problem(episode.metadata)
        if problem is not None:
            yield Unfit(episode.id, problem)
            continue
        found = _intent(episode)
        if found.key is not None and found.intent in ("add", "update"):
            named = (episode.user, found.key)
            if named in seen and not found.replaces:
                found = found._replace(intent="update", replaces=(seen[named],))
            seen[named] = episode.id
        yield found


def key_of(subject: str, predicate: str) -> str:
    """The key of a triple. A dot in the subject is escaped, so that no two triples share a key."""
    return f"{subject.replace(chr(92), chr(92) * 2).replace('.', chr(92) + '.')}.{predicate}"


def _problem(metadata: Mapping[str, Json]) -> str | None:
    """Why metadata says nothing that can be done; None if it does."""
    asked, replaces, value = (metadata.get(name) for name in ("intent", "replaces", "object"))
    if asked is not None and asked not in INTENTS:
        return f"intent is {shown(asked)}, not one of {', '.join(INTENTS)}"
    for name in ("subject", "predicate", "key"):
        word = metadata.get(name)
        if word is not None and not (isinstance(word, str) and word.strip()):
            return f"{name} is {shown(word)}, not a word"
    if isinstance(value, dict | list) or (isinstance(value, str) and not value.strip()):
        return f"object is {shown(value)}, not a value"
    named = replaces if isinstance(replaces, list) else [replaces or "-"]
    if not all(isinstance(one, str) and one for one in named):
        return f"replaces is {shown(replaces)}, not an id or a list of ids"
    if asked == "delete" and not replaces and _key(metadata) is None:
        return "intent is 'delete', and neither replaces nor key says of what"
    return None


def _intent(episode: Heard) -> Intended:
    """What metadata without a problem says."""
    metadata = episode.metadata
    subject, predicate = _word(metadata, "subject"), _word(metadata, "predicate")
    key, replaces = _key(metadata), metadata.get("replaces") or ()
    triple = None
    if subject is not None and predicate is not None:
        triple = (subject, predicate, metadata.get("object"))
    asked = metadata.get("intent") or "add"
    if asked == "update" and not replaces and key is None:
        asked = "add"
    return Intended(
        episode=episode.id,
        intent=cast(Intent, asked),
        text=episode.text if triple is None or triple[2] is None else _statement(*triple),
        key=key,
        about=subject,
        replaces=(replaces,) if isinstance(replaces, str) else _each_once(replaces),
        triple=triple,
    )


def _key(metadata: Mapping[str, Json]) -> str | None:
    """The key that metadata names, or that of its triple."""
    key, subject, predicate = (_word(metadata, name) for name in ("key", "subject", "predicate"))
    if key is None and subject is not None and predicate is not None:
        return key_of(subject, predicate)
    return key


def _word(metadata: Mapping[str, Json], name: str) -> str | None:
    value = metadata.get(name)
    return None if value is None else cast(str, value).strip()


def _each_once(names: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(cast("list[str]", names)))


def _statement(subject: str, predicate: str, value: Json) -> str:
    said = str(value).lower() if isinstance(value, bool) else str(value)
    return f"{subject} {predicate.replace('_', ' ')} {said}"
