"""A token for one user on a server: it answers and changes what a handle for that user does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from recollect import Memory, Store
from recollect.errors import Conflict, Forbidden, NotFound, RecollectError, Unavailable
from recollect.memory.handle.handle import Handle, handle_of
from recollect.model.instants import instant
from recollect.store.postgres.ledgers import PostgresBackend
from recollect.store.seam import Seam

CANARY = "canary7f3a"


def fill(memory: Memory, user: str, word: str) -> None:
    """A little of everything that belongs to a user."""
    mine = memory.scoped(user=user)
    said = mine.observe(f"{word} was said", role="user", session="s", id=f"e-{user}")
    record = mine.remember(
        f"{word} holds", key=word, tags=[word], evidence=[said[0].id], id=f"r-{user}"
    )
    other = mine.remember(f"{word} too", about=word, id=f"s-{user}", idempotency_key=f"c-{word}")
    mine.graph.link(record.id, other.id, "relates_to")
    mine.revise(record.id, f"{word} held")
    mine.forget(said[0].id)
    mine.context(word)
    mine.admin.flush()
    mine.sessions.open(word)
    mine.branches.open(word)
    mine.scoped(trust="agent").revise(other.id, f"{word} as well")


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """The owner's store."""
    with Store.open(url, embedder="none") as store:
        yield store


@pytest.fixture
def memory(store: Store) -> Memory:
    """The owner's handle of a space that ann and ben share."""
    memory = store.space("bob")
    fill(memory, "ann", "ordinary")
    fill(memory, "ben", CANARY)
    memory.remember("For everybody.", id="r-all")
    memory.settings.presets.set({**memory.settings.presets.get("task").to_dict(), "name": "mine"})
    memory.erase(memory.remember("Gone.").id)
    return memory


@pytest.fixture
def ann(store: Store, memory: Memory) -> Memory:
    """Ann's handle, by a token for her memory alone."""
    return anns(store, "bob")


def anns(store: Store, space: str) -> Memory:
    verbs = ("read", "write", "erase")
    made = store.tokens.create("ann", space=space, verbs=verbs, trust="person", user="ann")
    return store.entered(made.token).space(space)


def test_a_token_for_one_user_lists_that_users_events(memory: Memory, ann: Memory) -> None:
    found = ann.events.list()
    assert found == memory.scoped(user="ann").events.list()
    assert len(found) > 5
    assert CANARY not in str(found)
    assert ann.events.list(id="r-ben") == []
    assert CANARY in str(memory.events.list())  # the control
    assert ann.events.list(id="r-ann", kinds=["record.revised"])[0].text == "ordinary held"


def test_a_token_for_one_user_dates_events_of_commands_that_it_cannot_see(
    memory: Memory, ann: Memory
) -> None:
    """The command of an event may end with another's event, or with an erased one."""
    ann.observe("said here", id="e-here")
    memory.revise("r-ann", "Revised for the whole space.")
    memory.graph.link("r-ann", "s-ann", "supports")
    memory.graph.unlink("r-ann", "s-ann", "supports")
    memory.forget("e-here")
    memory.undo("e-here")
    ann.remember("Written later.", idempotency_key="later")
    with ann.batch(idempotency_key="batch") as batch:
        batch.remember("The first of two.", id="one")
        batch.remember("The last of two.", id="two")
    ann.erase("two")
    ann.remember("Written last.", idempotency_key="last")
    found = ann.events.list()
    assert found == memory.scoped(user="ann").events.list()
    keys = {one.id: one.idempotency_key for one in found}
    assert (keys["e-here"], keys["r-ann"], keys["one"]) == (None, None, None)
    assert [one.idempotency_key for one in found if one.text == "Written later."] == ["later"]
    assert {one.kind for one in found} >= {"link.removed", "episode.restored"}


def test_a_token_for_one_user_undoes_the_command_that_it_means(memory: Memory, ann: Memory) -> None:
    memory.revise("r-ann", "Revised for the whole space.")
    kept = ann.remember("Written later.")
    ann.undo("r-ann")
    assert ann.get("r-ann").text == "ordinary held"
    assert ann.get(kept.id).status == "active"
    with pytest.raises(NotFound):
        ann.undo("r-ben")
    ann.undo(kept.id)  # the control
    assert ann.get(kept.id, include=["forgotten"]).status == "forgotten"


def test_an_unverified_source_adds_what_is_held(store: Store, memory: Memory) -> None:
    made = store.tokens.create("low", space="bob", trust="unverified")
    low = store.entered(made.token).space("bob")
    assert low.remember("Somebody says so.").status == "waiting"
    low.context("who says so")
    low.admin.flush()
    low.forget("r-all")  # a proposal, which a person may accept
    assert memory.get("r-all").status == "active"
    assert memory.admin.verify(deep=True).ok


def test_a_client_whose_clock_is_ahead_is_told(database: str) -> None:
    class Ahead(Seam):
        minutes = 4

        def now(self) -> str:
            return instant(datetime.now(UTC) + timedelta(minutes=self.minutes))

    seam = Ahead()
    backend = PostgresBackend(database, seam=seam)
    try:
        mine = Memory(Handle(backend.space("bob", create=True), seam))
        mine.remember("A few minutes are let pass.")
        seam.minutes = 6
        with pytest.raises(Unavailable, match="5 minutes ahead") as refusal:
            mine.remember("An hour is not.")
        assert "clock" in str(refusal.value.hint)
        seam.minutes = 4
        assert [record.text for record in mine.list()] == ["A few minutes are let pass."]
    finally:
        backend.close()


def test_ids_that_are_taken_are_taken(memory: Memory, ann: Memory) -> None:
    for id in ("r-ben", "e-ben", "r-all"):
        with pytest.raises(Conflict):
            ann.remember("x", id=id)
        with pytest.raises(Conflict):
            ann.observe("x", id=id)
        with pytest.raises(NotFound):
            ann.forget(id)
    with pytest.raises(Conflict):
        ann.remember("x", idempotency_key=f"c-{CANARY}")
    assert ann.remember("ordinary, again", id="r-new").id == "r-new"
    assert memory.admin.verify(deep=True).ok


def test_a_token_for_one_user_supersedes_that_users_records(memory: Memory, ann: Memory) -> None:
    new = ann.remember("ordinary holds again", replaces="r-ann", reason="checked")
    assert (new.key, new.scope.user, new.replaces) == ("ordinary", "ann", "r-ann")
    assert memory.history("r-ann")[-1].note == "checked"
    for id in ("r-ben", "r-all"):  # another's, and that of nobody in particular
        with pytest.raises(NotFound):
            ann.remember("x", replaces=id)
    waits = ann.scoped(trust="unverified").remember("from the web", replaces="s-ann")
    assert waits.pending is not None
    (last,) = [one for one in memory.review.list() if one.id == waits.pending]
    memory.review.approve(last.id, last.digest)
    assert memory.history("s-ann")[-1].what == "replaced"
    ann.undo(new.id)
    assert ann.get(key="ordinary").id == "r-ann"


def test_what_needs_the_whole_space_is_refused(ann: Memory) -> None:
    for ask in (ann.admin.verify, ann.status, ann.admin.digest, ann.admin.rebuild, ann.admin.seal):
        with pytest.raises(Forbidden):
            ask()
    assert [(finding.level, finding.what) for finding in ann.admin.doctor()] == [("note", "ledger")]
    with pytest.raises(Forbidden):
        ann.settings.presets.drop("mine")


def test_a_space_may_begin_with_a_token_for_one_user(store: Store) -> None:
    ann = anns(store, "new")
    assert ann.list() == []
    ann.remember("The first thing.")
    assert store.space("new").admin.verify(deep=True).ok


def test_erasing_ones_own_takes_everything_of_it(memory: Memory, ann: Memory) -> None:
    memory.revise("r-ann", tags=["tagged-by-the-owner"], idempotency_key="owner-1")
    memory.graph.link("r-ann", "r-ben", "relates_to")
    memory.remember("For everybody, too.", evidence=["e-ann"], id="r-more")
    report = ann.erase("r-ann")
    assert "e-ann" in report.kept
    with pytest.raises(NotFound):
        memory.get("r-ann")
    assert not memory.why("r-ben").links or "r-ann" not in str(memory.why("r-ben").links)
    ann.erase("s-ann")
    assert memory.admin.verify(deep=True).ok
    assert memory.get("r-ben").id == "r-ben"
    ledger = b"".join(memory._handle.space.pieces())
    assert b"ordinary too" not in ledger
    assert b"tagged-by-the-owner" not in ledger
    with pytest.raises(RecollectError):
        ann.erase("r-ben")


def script(owner: Memory, ann: Memory) -> list[object]:
    """The same calls on any engine, by ann and beside her; what she is answered."""
    ben = owner.scoped(user="ben")
    for number in range(6):
        ben.observe(f"Ben saw the harbour {number} times.", id=f"eb{number}", session=f"b{number}")
        ann.observe(f"The harbour is loud, day {number}.", id=f"ea{number}", session=f"a{number}")
        ben.remember(f"Harbour number {number} belongs to ben.", id=f"rb{number}", tags=["harbour"])
    first = ann.remember(
        "The harbour office opens at nine.", id="ra0", key="office", evidence=["ea0", "eb0", "ea1"]
    )
    owner.remember("Everybody meets at the harbour.", id="all", evidence=["ea1"])
    owner.revise("ra0", tags=["by-the-owner"])
    ann.remember("The harbour office opens at ten.", id="ra1", key="office", evidence=["ea2"])
    ann.remember("Ann's boat is blue.", id="ra2", tags=["boat"])
    ann.graph.link("ra1", "ra2", "relates_to")
    owner.graph.link("ra2", "rb0", "relates_to")
    ann.revise("ra2", "Ann's boat is green.", evidence=["ea3"])
    ann.forget("ea4")
    ann.forget("ra2")
    ann.undo("ra2")
    ann.erase("ea5")
    with ann.batch() as batch:
        batch.observe("Said in a batch.", id="ea9")
        batch.remember("Written in a batch.", id="ra9", evidence=["ea9"])
    found: list[object] = [first.id]
    for words in ("harbour office", "boat", "ben harbour number", "batch", "loud day"):
        hits = ann.recall(words, k=20, include=("replaced", "forgotten", "hidden")).hits
        found.append([(hit.id, round(hit.relevance, 12)) for hit in hits])
        found.append(ann.context(words, receipt=False).text)
    found.append([(each.id, each.text, each.status) for each in ann.list(include=["replaced"])])
    found.append(
        [(each.id, each.text) for each in ann.sessions.episodes(include=["forgotten", "hidden"])]
    )
    found.append([(each.what, each.record.text) for each in ann.history("ra2")])
    why = ann.why("ra1")
    found.append(([each.id for each in why.sources], why.other_evidence, why.replaced[0].id))
    found.append([(each.source, each.target) for each in ann.why("ra2").links])
    found.append(ann.at(ann.events.position).get(key="office").id)
    return found


def test_a_token_for_one_user_answers_as_a_handle_for_one_does(store: Store) -> None:
    files, owner = Memory.open(":memory:", embedder="none"), store.space("main")
    owner.status()
    theirs = script(owner, anns(store, "main"))
    for ours, answer in zip(script(files, files.scoped(user="ann")), theirs, strict=True):
        assert ours == answer
    assert owner.admin.verify(deep=True).ok
    assert b"day 5" not in b"".join(handle_of(owner).space.pieces())


def derivations(owner: Memory, ann: Memory) -> list[object]:
    """What ann may lower and what she may not, on any engine."""
    bot = ann.scoped(trust="agent").remember("The harbour opens at nine, said the bot.")
    found: list[object] = []
    for word, make in (("tied", owner.remember), ("own", ann.remember)):
        base = ann.remember(f"The harbour opens at nine ({word}).", id=f"base-{word}")
        make(f"The office opens then ({word}).", evidence=[base.id], id=f"top-{word}")
    linked = ann.remember("The harbour opens at nine (linked).", id="base-linked")
    owner.scoped(user="ben").remember("Ben opens at nine.", id="top-linked")
    owner.graph.link("top-linked", linked.id, "derived_from")
    for word in ("tied", "own", "linked"):
        try:
            ann.graph.link(f"base-{word}", bot.id, "derived_from")
            found.append(ann.get(f"base-{word}").trust)
        except Forbidden as refused:
            found.append(str(refused))
        found.append(owner.get(f"top-{word}").trust)
    return found


def test_a_token_for_one_user_lowers_as_a_handle_for_one_does(store: Store) -> None:
    files, owner = Memory.open(":memory:", embedder="none"), store.space("main")
    owner.status()
    theirs = derivations(owner, anns(store, "main"))
    assert derivations(files, files.scoped(user="ann")) == theirs
    refused = [one not in ("person", "agent") for one in theirs]
    assert refused == [True, False, False, False, True, False]
    assert [theirs[1], *theirs[2:4], theirs[5]] == ["person", "agent", "agent", "person"]
    assert owner.admin.verify(deep=True).ok
