"""Events that somebody wrote into the ledger past every rule: they stand there and do nothing."""

from __future__ import annotations

from pathlib import Path

from recollect import Memory
from recollect.ledger.chain import SALT_BYTES, Draft, chain
from recollect.ledger.codec import encode_body
from recollect.ledger.scan import scan
from recollect.model import events as e
from recollect.model.values import INCLUDES
from recollect.testing.rebuilding import rebuilt_digest


def forge(place: Path, origin: e.Origin, *bodies: e.AnyBody) -> None:
    """Appends well-formed lines to the ledger of a workspace, as whoever can write the file may."""
    (file,) = place.rglob("events.wal")
    *_, append = scan([file.read_bytes()])
    last = append.lines[-1]
    drafts = [
        Draft(f"forged{last.seq}.{n}", e.KIND_OF[type(body)], origin, encode_body(body))
        for n, body in enumerate(bodies, 1)
    ]
    salts = bytes(SALT_BYTES * len(drafts))
    data, _ = chain(e.Head(last.seq, last.hash, last.at), last.at, drafts, salts)
    with file.open("ab") as ledger:
        ledger.write(data)


def test_an_unverified_origin_takes_nothing_of_a_persons_away(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        mine = memory.remember("The wire goes to account 12345", key="wire", tags=["t"])
        (said,) = memory.observe("Wire it to 12345")
    forge(
        tmp_path,
        "unverified",
        e.RecordForgotten(id=mine.id),
        e.RecordRevised(id=mine.id, trust="person", text="The wire goes to 666"),
        e.RecordSuperseded(id=mine.id, by="x"),
        e.RecordTagged(id=mine.id, remove=("t",)),
        e.EpisodeForgotten(id=said.id),
        e.EventsErased(targets=(2, 3)),
    )
    with Memory.open(tmp_path / "m") as memory:
        assert memory.get(mine.id) == mine
        assert memory.get(said.id) == said
        assert [hit.id for hit in memory.recall("wire")] == [mine.id, said.id]
        assert memory.admin.verify().ok
        assert memory.admin.digest() == rebuilt_digest(memory.admin)
        assert memory.events.position == 9
    (file,) = tmp_path.rglob("events.wal")
    assert file.read_bytes().count(b"12345") == 2


def test_the_same_events_of_a_person_do_what_they_say(tmp_path: Path) -> None:
    """The control: the lines are well formed, and only their origin was wrong."""
    with Memory.open(tmp_path / "m") as memory:
        mine = memory.remember("The wire goes to account 12345", key="wire")
    forge(tmp_path, "person", e.RecordForgotten(id=mine.id))
    with Memory.open(tmp_path / "m") as memory:
        assert memory.get(mine.id, include=["forgotten"]).status == "forgotten"


def test_a_history_never_shows_what_another_user_said(tmp_path: Path) -> None:
    """Somebody forges that their record superseded one of another user."""
    with Memory.open(tmp_path / "m") as memory:
        hers = memory.scoped(user="ada").remember("Ada's PIN is 4711")
    forged = e.RecordAdded(
        id="forged",
        text="Mine",
        kind="fact",
        confidence=0.7,
        status="active",
        trust="person",
        user="bob",
        supersedes=hers.id,
    )
    forge(tmp_path, "person", forged)
    with Memory.open(tmp_path / "m") as memory:
        bob = memory.scoped(user="bob")
        assert bob.why("forged").replaced == ()
        assert bob.why("forged").record.replaces == hers.id  # the control: it was read


OLD, OLDER = "2021-01-01T00:00:00.000000Z", "2020-01-01T00:00:00.000000Z"


def corrected(id: str, said: str) -> e.RecordRevised:
    """An agent's correction that sets an end, as earlier releases wrote it."""
    evidence = (said,)
    return e.RecordRevised(id=id, trust="agent", text="Berta", evidence=evidence, expires=OLDER)


def test_retain_does_not_follow_an_agents_end_for_a_persons_record(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        mine = [memory.remember(f"The wire {n} goes to Anna").id for n in range(5)]
        its = memory.scoped(trust="agent").remember("Tea is at four").id
        (said,) = memory.observe("Berta, now")
        memory.settings.set_retention(0)
    forge(tmp_path, "agent", *(corrected(id, said.id) for id in mine[:3]))
    forge(tmp_path, "agent", e.RecordRevised(id=mine[1], trust="agent", expires=OLD))
    forge(tmp_path, "agent", e.RecordRevised(id=its, trust="agent", expires=OLDER))
    forge(tmp_path, "person", e.RecordTagged(id=mine[0], add=("seen",)))
    forge(
        tmp_path,
        "person",
        *(e.RecordRevised(id=id, trust="agent", expires=OLD) for id in mine[2:4]),
    )
    forge(tmp_path, "agent", corrected(mine[3], said.id))
    with Memory.open(tmp_path / "m") as memory:
        ends = {record.id: record.expires for record in memory.list(include=INCLUDES)}
        # The control: the events have effect.
        assert [ends[id] for id in (*mine, its)] == [OLDER, OLD, OLD, OLDER, None, OLDER]
        assert set(memory.erase(expired=True).records) == {mine[2], mine[3], its}


def test_what_a_person_forgot_stays_forgotten(tmp_path: Path) -> None:
    with Memory.open(tmp_path / "m") as memory:
        agent = memory.scoped(trust="agent")
        belief = agent.remember("The vault is open")
        (said,) = agent.observe("The vault is open", role="assistant")
        memory.forget(belief.id)
        memory.forget(said.id)
    back = (e.RecordRestored(id=belief.id), e.EpisodeRestored(id=said.id))
    forge(tmp_path, "agent", e.RecordForgotten(id=belief.id), *back)
    with Memory.open(tmp_path / "m") as memory:
        assert memory.recall("vault").hits == ()
        assert memory.admin.digest() == rebuilt_digest(memory.admin)
    forge(tmp_path, "person", *back)
    with Memory.open(tmp_path / "m") as memory:
        assert {hit.id for hit in memory.recall("vault")} == {belief.id, said.id}  # the control


def test_a_claim_of_more_trust_gets_that_of_its_origin(tmp_path: Path) -> None:
    """A server cannot read an encrypted body, so the fold must not believe what one claims."""
    with Memory.open(tmp_path / "m") as memory:
        mine = memory.remember("The wire goes to account 12345", key="wire")

    def claims(id: str, trust: e.Trust) -> e.RecordAdded:
        return e.RecordAdded(
            id=id, text=f"Claim of {id}", kind="fact", confidence=1.0, status="active", trust=trust
        )

    forge(
        tmp_path,
        "agent",
        claims("by-agent", "person"),
        e.RecordRevised(id=mine.id, trust="person", text="To 666", evidence=("x",)),
    )
    forge(tmp_path, "unverified", claims("by-nobody", "person"))
    with Memory.open(tmp_path / "m") as memory:
        assert memory.get("by-agent").trust == "agent"
        held = memory.get("by-nobody", include=INCLUDES)
        assert (held.trust, held.status) == ("unverified", "waiting")
        assert memory.get(mine.id) == mine  # a change that claims too much has no effect
        assert memory.admin.digest() == rebuilt_digest(memory.admin)
