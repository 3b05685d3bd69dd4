"""Events that somebody wrote into the ledger past every rule: they stand there and do nothing."""

from __future__ import annotations

from pathlib import Path

from recollect import Memory
from recollect.ledger.chain import SALT_BYTES, Draft, chain
from recollect.ledger.codec import encode_body
from recollect.ledger.scan import scan
from recollect.model import events as e


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
        assert memory.verify().ok
        assert memory.rebuild().digest == memory.digest()
        assert memory.position == 9
    (file,) = tmp_path.rglob("events.wal")
    assert file.read_bytes().count(b"12345") == 2


def test_the_same_events_of_a_person_do_what_they_say(tmp_path: Path) -> None:
    """The control: the lines are well formed, and only their origin was wrong."""
    with Memory.open(tmp_path / "m") as memory:
        mine = memory.remember("The wire goes to account 12345", key="wire")
    forge(tmp_path, "person", e.RecordForgotten(id=mine.id))
    with Memory.open(tmp_path / "m") as memory:
        assert memory.get(mine.id, include=["forgotten"]).status == "forgotten"
