"""Random calls of strangers through `Store.entered`: not a byte of others, and one kind of no.

Each probe asks for something that is not the caller's: another space, another user's records, or
anything at all with a token that was revoked, rotated away, has expired or never existed. The
answer may hold nothing of theirs, and must not say whether it is there.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from recollect.config import load
from recollect.errors import Forbidden, NotFound, RecollectError
from recollect.memory import Memory, Store
from recollect.store import entered
from recollect.store.entered import EnteredBackend, EnteredSpace
from recollect.store.files.backend import FileBackend
from recollect.store.indexed.backend import MemoryBackend
from recollect.store.port import Backend
from recollect.store.tokens.grants import Grant
from tests.suites.conftest import Tell

CANARY = "canary7f3a"
SPACES = ("alice", "bob", "carol")
USERS = ("ann", "ben")
Probe = Callable[[Memory, str], object]

# Calls that name something; the second argument is an id, a key or a text of others, or of none.
PROBES: dict[str, Probe] = {
    "get": lambda memory, name: memory.get(name),
    "recall": lambda memory, name: memory.recall(f"who holds {name}").hits,
    "list": lambda memory, name: memory.list(limit=1_000, include=["waiting", "forgotten"]),
    "filter": lambda memory, name: memory.list(filter=f"text = {name!r}"),
    "episodes": lambda memory, name: memory.sessions.episodes(limit=1_000),
    "history": lambda memory, name: memory.history(name),
    "why": lambda memory, name: memory.why(name),
    "context": lambda memory, name: memory.context("what is known?").text,
    "revise": lambda memory, name: memory.revise(name, "mine now"),
    "forget": lambda memory, name: memory.forget(name),
    "erase": lambda memory, name: memory.erase(name),
    "tag": lambda memory, name: memory.revise(name, tags=["mine"]),
    "review": lambda memory, name: memory.review.show(name),
    "events": lambda memory, name: memory.events.list(limit=1_000),
    "graph": lambda memory, name: memory.graph.neighbours(name),
    "at": lambda memory, name: memory.at(3).list(limit=1_000),
}
ABOUT_IDS = ("get", "history", "why", "revise", "forget", "erase", "tag", "review", "graph")


def fill(store: Store) -> None:
    """In every space, of every user and of none: records, an episode and a link with a canary."""
    for space in SPACES:
        for user in (*USERS, None):
            memory = store.space(space)
            mine = memory if user is None else memory.scoped(user=user)
            word = f"{CANARY}-{space}-{user}"
            said = mine.observe(f"{word} was said", role="user", id=f"e-{space}-{user}")
            record = mine.remember(
                f"{word} holds", key="k", tags=["t"], evidence=[said[0].id], id=f"r-{space}-{user}"
            )
            mine.revise(record.id, f"{word} held")
            other = mine.remember(f"{word} too", id=f"o-{space}-{user}")
            mine.graph.link(record.id, other.id, "relates_to")


def tokens_of(store: Store) -> dict[str, tuple[str, str | None]]:
    """Tokens by what became of them: the token, and the user that it is for."""
    every = {"space": "alice", "verbs": ["write", "erase"], "trust": "person"}
    made: dict[str, tuple[str, str | None]] = {}
    for user in (None, "ann"):
        for what in ("live", "revoked", "rotated", "expired"):
            label = f"{what} {user}"
            expires = timedelta(milliseconds=80) if what == "expired" else None
            token = store.tokens.create(label, user=user, expires=expires, **every)  # type: ignore[arg-type]
            made[label] = token.token, user
            if what == "revoked":
                store.tokens.revoke(token.id)
            if what == "rotated":
                store.tokens.rotate(token.id, overlap=timedelta(0))
        made[f"unknown {user}"] = "rct_" + "x" * 43, user
    time.sleep(0.1)
    return made


class Strangers:
    """One round of probes, and what came of them."""

    def __init__(self, store: Store, seed: int) -> None:
        self.store = store
        self.chance = random.Random(seed)
        self.tokens = tokens_of(store)
        self.found: Counter[str] = Counter()
        self.leaks: list[str] = []
        self.refusals: dict[str, set[str]] = {}

    def run(self, count: int) -> None:
        for _ in range(count):
            labels = list(self.tokens)
            if self.chance.random() < 0.6:
                labels = [label for label in labels if label.startswith("live")]
            label = self.chance.choice(labels)
            space = self.chance.choice((*SPACES, "nobody"))
            whose = self.chance.choice((*USERS, None, "nobody"))
            self.probe(label, space, whose, self.chance.choice(list(PROBES)))

    def probe(self, label: str, space: str, whose: str | None, what: str) -> None:
        """One call; what it may know is of the token's own space and user."""
        token, user = self.tokens[label]
        name = f"{self.chance.choice('reo')}-{space}-{whose}"
        is_mine = label.startswith("live") and space == "alice" and user in (None, whose)
        try:
            answer = repr(PROBES[what](self.store.entered(token).space(space, create=False), name))
            outcome = "answered"
        except RecollectError as error:
            answer, outcome = f"{error} {error.hint}", type(error).__name__
            self._note_refusal(label, space, what, name, error, is_mine)
        self.found[f"{label.split(maxsplit=1)[0]}: {outcome}"] += 1
        for other in (*SPACES, "nobody"):
            for theirs in (*USERS, None):
                allowed = label.startswith("live") and other == "alice" and user in (None, theirs)
                if not allowed and f"{CANARY}-{other}-{theirs}" in answer:
                    self.leaks.append(f"{label} {what} {space} {name}: {other} {theirs}")
        if outcome == "answered" and not label.startswith("live"):
            self.leaks.append(f"{label} {what} was answered")
        if outcome == "answered" and space != "alice":
            self.leaks.append(f"{label} {what} of {space} was answered")

    def _note_refusal(
        self, label: str, space: str, what: str, name: str, error: RecollectError, is_mine: bool
    ) -> None:
        """What a refusal says, but for the name that was asked for."""
        if is_mine or not label.startswith("live"):
            return
        if space != "alice":
            kind, asked = "space", space
        elif what in ABOUT_IDS:
            kind, asked = f"id {what}", name
        else:
            return
        said = f"{type(error).__name__} {error} {error.hint}".replace(repr(asked), "…")
        self.refusals.setdefault(kind, set()).add(said.replace(asked, "…"))


def probed(store: Store, count: int, seed: int = 1) -> Strangers:
    fill(store)
    strangers = Strangers(store, seed)
    strangers.run(count)
    return strangers


def report(strangers: Strangers, where: str, count: int, tell: Tell) -> None:
    shown = dict(sorted(strangers.found.items()))
    tell(f"tokens on {where}: {count} probes, {len(strangers.leaks)} leaks, {shown}")
    assert strangers.leaks == []
    several = {kind: said for kind, said in strangers.refusals.items() if len(said) != 1}
    assert several == {}
    assert "space" in strangers.refusals
    assert len(strangers.refusals) > 5
    (only,) = strangers.refusals["space"]
    assert only.startswith("NotFound")


def opened(backend: Backend, where: str | Path) -> Store:
    return Store(backend, load(where, embedder="none"))


@pytest.fixture(params=["files", pytest.param("memory", marks=pytest.mark.nightly)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store on each engine that checks tokens in this process."""
    backend: Backend = MemoryBackend()
    where: str | Path = ":memory:"
    if request.param == "files":
        backend, where = FileBackend(tmp_path / "ws"), tmp_path / "ws"
    with opened(backend, where) as store:
        yield store


def test_strangers_learn_nothing(store: Store, tell: Tell) -> None:
    report(probed(store, 2_000), store.where.split("/")[0] or "files", 2_000, tell)


def controlled(store: Store) -> list[str]:
    return probed(store, 600).leaks


def test_control_without_the_space_of_a_token_others_are_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def any_space(self: EnteredBackend, name: str, *, create: bool = False) -> Iterator[Grant]:
        token = self.token()
        yield Grant(name, frozenset(token.verbs), token.trust, token.user, token.agent)

    monkeypatch.setattr(EnteredBackend, "granted", any_space)
    assert controlled(store)


def test_control_without_the_user_of_a_token_others_are_read(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EnteredSpace, "widest", None)
    assert controlled(store)


def test_control_a_token_that_is_not_asked_again_still_works_when_it_ended(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def remembered(found: object) -> object:
        if found is None:
            raise Forbidden("unknown")
        return found

    monkeypatch.setattr(entered, "_live", remembered)
    assert controlled(store)


def test_control_other_words_for_a_space_of_others_are_noticed(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = EnteredBackend.granted

    @contextmanager
    def told(self: EnteredBackend, name: str, *, create: bool = False) -> Iterator[Grant]:
        with ExitStack() as stack:
            try:
                grant = stack.enter_context(real(self, name, create=create))
            except NotFound:
                if self._backend.has(name):
                    raise NotFound("this one is not yours") from None
                raise
            yield grant

    monkeypatch.setattr(EnteredBackend, "granted", told)
    assert len(probed(store, 300).refusals["space"]) == 2
