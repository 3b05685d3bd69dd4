"""Witnesses of a memory: asked at a checkpoint, compared with the ledger, and never believed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from recollect import Memory
from recollect.config import keys_folder
from recollect.errors import (
    Ambiguous,
    ConfigError,
    Conflict,
    Forbidden,
    IntegrityError,
    InvalidInput,
    NotFound,
)
from recollect.memory.keys import Keys
from recollect.memory.witnesses import Witnesses, to_serve
from recollect.proof.keys import LOG, WITNESS, PrivateKey, parse_key, seen_at
from recollect.proof.notes import parse
from recollect.store.checkpoints import checkpoints
from recollect.store.witnesses import requests
from tests.memory.test_checkpoints import chained_again, filled, reopened
from tests.witnesses.serving import served


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "w"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "elsewhere").mkdir()
    return tmp_path / "elsewhere" / "witness"


def witnessed(place: Path, folder: Path, count: int = 9) -> Memory:
    memory = filled(place, count)
    Witnesses(memory).add(folder)
    return memory


def notes_in(folder: Path) -> list[int]:
    return sorted(int(path.stem) for path in folder.glob("logs/*/checkpoints/*.note"))


def test_a_checkpoint_is_cosigned_and_kept_elsewhere(place: Path, folder: Path) -> None:
    with witnessed(place, folder) as memory:
        made = memory.proof.checkpoint()
        (answer,) = made.witnesses
        assert (answer.problem, answer.place) == (None, str(folder))
        (_, cosignature) = parse(made.note.encode()).signatures
        (witness,) = Witnesses(memory).all()
        assert parse_key(witness.key).signed(parse(made.note.encode()).text, cosignature)
        assert answer.at is not None
        assert seen_at(cosignature) > 1_700_000_000
        assert (place / "checkpoints" / "10.note").read_text() == made.note
        (last,) = keys_folder().glob("*.note")
        assert last.read_text() == made.note
        for number in range(5):
            memory.remember(f"More of it {number}.")
            again = memory.proof.checkpoint()
            assert [each.problem for each in again.witnesses] == [None]
        assert notes_in(folder) == [10, 11, 12, 13, 14, 15]
        report = memory.admin.verify()
        assert (report.status, report.anchored_through, report.problem) == ("anchored", 15, None)


def test_no_private_key_and_no_text_is_in_the_folder_of_a_witness(
    place: Path, folder: Path
) -> None:
    with witnessed(place, folder) as memory:
        memory.proof.checkpoint()
        assert len(list(keys_folder().glob("*.witness.json"))) == 1
        assert not list(folder.rglob("*.json"))
        for path in folder.rglob("*"):
            assert path.is_dir() or b"Fact" not in path.read_bytes()
            assert path.stat().st_mode & 0o077 == 0 or path == folder.parent


def test_without_a_frontier_the_proof_is_made_from_the_whole_ledger(
    place: Path, folder: Path
) -> None:
    with witnessed(place, folder) as memory:
        memory.proof.checkpoint()
        for number in range(4):
            memory.remember(f"More {number}.")
            if number % 2:
                memory.admin.seal()  # signs too, and asks nobody
        (place / "checkpoints" / "frontier.json").unlink()
        assert [each.problem for each in memory.proof.checkpoint().witnesses] == [None]
        for path in (place / "checkpoints").glob("*.note"):
            path.unlink()  # so what the witness has seen is not known here
        memory.remember("Last.")
        assert [each.problem for each in memory.proof.checkpoint().witnesses] == [None]


def test_a_checkpoint_costs_what_was_written_since(
    place: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with witnessed(place, folder) as memory:
        memory.proof.checkpoint()
        monkeypatch.delattr(requests, "verify")  # what reads the whole ledger
        monkeypatch.delattr(checkpoints, "_from_start")
        memory.remember("More.")
        assert [each.problem for each in memory.proof.checkpoint().witnesses] == [None]
        assert [each.problem for each in memory.proof.checkpoint().witnesses] == [None]


def test_the_same_checkpoint_keeps_its_cosignatures(
    place: Path, folder: Path, tmp_path: Path
) -> None:
    with witnessed(place, folder) as memory:
        memory.proof.checkpoint()
        shutil.move(folder, tmp_path / "unmounted")
        again = memory.proof.checkpoint()
        assert "there is no witness in" in (again.witnesses[0].problem or "")
        assert again.note.count("\u2014") == 2  # of the ledger, and of the witness before
        memory.remember("More.")
        later = memory.proof.checkpoint()
        assert (later.size, later.note.count("\u2014")) == (11, 1)
        report = memory.admin.verify()
        assert (report.status, report.anchored_through) == ("anchored", 11)
        assert "vouches for nothing" in (report.problem or "")
        shutil.move(tmp_path / "unmounted", folder)
        assert memory.proof.checkpoint().note.count("\u2014") == 2
        assert memory.admin.verify().problem is None


def cut(place: Path, keep: int) -> None:
    lines = (place / "events.wal").read_bytes().splitlines(keepends=True)
    (place / "events.wal").write_bytes(b"".join(lines[:keep]))
    for path in (place / "checkpoints").iterdir():
        if path.name == "frontier.json" or int(path.stem) > keep:
            path.unlink()


def without_last() -> None:
    """As if somebody could write beside the keys too, but not to the witness."""
    for path in (*keys_folder().glob("*.note"), *keys_folder().glob("*.head")):
        path.unlink()


def test_a_ledger_that_was_cut_is_found_by_the_witness(place: Path, folder: Path) -> None:
    with witnessed(place, folder, 4) as memory:
        memory.proof.checkpoint()
        memory.remember("Two more.")
        memory.proof.checkpoint()
    cut(place, 5)
    without_last()
    with reopened(place) as memory:
        report = memory.admin.verify()
        assert (report.status, report.broken_at) == ("broken", 6)
        made = (
            memory.proof.checkpoint()
        )  # nothing here contradicts it any more, but the witness does
        assert "it has seen 6 events of this ledger" in (made.witnesses[0].problem or "")
        assert made.note.count("\u2014") == 2  # of the ledger, and the old one for these events
        memory.remember("Others.")
        memory.remember("And others.")
        assert "it refused" in (memory.proof.checkpoint().witnesses[0].problem or "")
        assert memory.admin.verify().status == "broken"
        Witnesses(memory).remove(str(folder))  # the control
        assert memory.admin.verify().status == "anchored"
    assert notes_in(folder) == [5, 6]


@pytest.mark.parametrize("without", [2, 5, 10])
def test_a_ledger_that_was_chained_again_is_found_by_the_witness(
    place: Path, folder: Path, without: int
) -> None:
    with witnessed(place, folder) as memory:
        memory.proof.checkpoint()
    chained_again(place / "events.wal", without=without)
    shutil.rmtree(place / "checkpoints")
    without_last()
    with reopened(place) as memory:
        memory.remember("So that there are as many events as before.")
        assert (memory.admin.verify().status, memory.admin.verify().broken_at) == ("broken", 1)
        for _ in range(2):
            assert "it refused" in (memory.proof.checkpoint().witnesses[0].problem or "")
            without_last()
            shutil.rmtree(place / "checkpoints")
            memory.remember("More.")
    assert notes_in(folder) == [10]


def test_a_cosigned_note_beside_the_ledger_is_no_anchor(place: Path, folder: Path) -> None:
    with witnessed(place, folder) as memory:
        memory.proof.checkpoint()
        memory.remember("More.")
        memory.proof.checkpoint()
    cut(place, 10)  # and the later note with it
    without_last()
    shutil.move(folder, folder.with_name("gone"))
    with reopened(place) as memory:
        report = memory.admin.verify()
        assert (report.status, report.anchored_through) == ("self-consistent", None)
        assert "there is no witness in" in (report.problem or "")
        without_last()
        shutil.move(folder.with_name("gone"), folder)
        assert memory.admin.verify().status == "broken"  # the control: it is asked and answers


def test_a_witness_at_an_address_is_said_not_to_be_asked(place: Path, tmp_path: Path) -> None:
    with filled(place) as memory:
        witness = to_serve(str(tmp_path / "served"), [Keys(memory).all()[0].key], new=True)
        with served(witness) as address:
            Witnesses(memory).add(address, str(witness.key))
            memory.proof.checkpoint()
            without_last()
            report = memory.admin.verify()
            assert report.status == "self-consistent"
            assert f"the witness at {address} was not asked" in (report.problem or "")


@pytest.mark.parametrize("beside", [True, False], ids=["notes beside", "with the keys"])
def test_a_witness_that_has_forgotten_is_reported(place: Path, folder: Path, beside: bool) -> None:
    with witnessed(place, folder) as memory:
        assert "has no checkpoint of this ledger yet" in (memory.admin.verify().problem or "")
        memory.proof.checkpoint()
        assert memory.admin.verify().problem is None
        for name in ("checkpoints", "seen"):  # as if it had never cosigned anything
            (found,) = folder.glob(f"logs/*/{name}")
            shutil.rmtree(found)
        if beside:
            added = Witnesses(memory).remove(str(folder))
            assert Witnesses(memory).add(folder) == added  # what was kept of it is gone
        else:
            shutil.rmtree(place / "checkpoints")
        assert "has forgotten 10 events" in (memory.admin.verify().problem or "")
        memory.remember("More.")
        for _ in range(2):
            (answer,) = memory.proof.checkpoint().witnesses
            assert "the witness has forgotten 10 events" in (answer.problem or "")
            assert answer.at is None
        assert notes_in(folder) == []


def test_a_note_of_another_ledger_is_not_what_a_witness_has_forgotten(
    place: Path, folder: Path, tmp_path: Path
) -> None:
    with witnessed(tmp_path / "another", folder, 20) as other:
        note = other.proof.checkpoint().note
    with witnessed(place, folder) as memory:
        memory.proof.checkpoint()
        (place / "checkpoints" / "21.note").write_text(note)
        memory.remember("More.")
        assert memory.proof.checkpoint().witnesses[0].problem is None
        assert memory.admin.verify().problem is None


def test_two_copies_that_went_on_differently_are_not_both_cosigned(
    place: Path, folder: Path, tmp_path: Path
) -> None:
    with witnessed(place, folder) as memory:
        memory.proof.checkpoint()
    shutil.copytree(place, tmp_path / "copy")
    with Memory.open(place) as memory:
        memory.remember("Here.")
        assert memory.proof.checkpoint().witnesses[0].problem is None
    without_last()
    with Memory.open(tmp_path / "copy") as memory:
        memory.remember("There.")
        memory.remember("And there.")
        assert "it refused" in (memory.proof.checkpoint().witnesses[0].problem or "")
        assert memory.admin.verify().status == "broken"


def test_after_a_rotation_the_witness_pins_the_new_key(place: Path, folder: Path) -> None:
    with witnessed(place, folder) as memory:
        memory.proof.checkpoint()
        Keys(memory).rotate()
        assert len(Witnesses(memory).all()) == 1
        memory.remember("More.")
        assert "recollect proof witness add" in (
            memory.proof.checkpoint().witnesses[0].problem or ""
        )
        Witnesses(memory).add(folder)
        assert memory.proof.checkpoint().witnesses[0].problem is None
        assert memory.admin.verify().status == "anchored"


def test_witnesses_are_added_listed_and_removed(place: Path, folder: Path, tmp_path: Path) -> None:
    with filled(place) as memory:
        list_of = Witnesses(memory)
        assert list_of.all() == []
        first = list_of.add(folder)
        assert (first.signs, first.place) == (True, str(folder))
        assert list_of.add(folder) == first  # the same again
        second = list_of.add(tmp_path / "second")
        assert list_of.all() == [first, second]
        assert list_of.add(str(folder), first.key) == first
        with pytest.raises(Conflict, match="has another key"):
            list_of.add(folder, second.key)
        with pytest.raises(NotFound, match="is not a witness"):
            list_of.remove("what")
        assert list_of.remove(first.name) == first
        assert list_of.remove(second.key) == second
        assert list_of.all() == []
        assert (folder / "witness.pub").exists()


def test_what_a_tired_person_types_is_refused(place: Path, folder: Path, tmp_path: Path) -> None:
    other = PrivateKey("recollect/other", LOG, bytes(32)).public
    witness = PrivateKey("w.example", WITNESS, bytes(32)).public
    with filled(place, key=False) as memory:
        with pytest.raises(NotFound, match="no key on this machine signs"):
            Witnesses(memory).add(folder)
        assert not folder.exists()
        Keys(memory).create()
        list_of = Witnesses(memory)
        for near in (place, place / "witness", keys_folder(), keys_folder() / "w"):
            with pytest.raises(InvalidInput, match="could change it too"):
                list_of.add(near)
        with pytest.raises(InvalidInput, match="needs its public key"):
            list_of.add("https://w.example")
        with pytest.raises(InvalidInput, match="the key of a ledger"):
            list_of.add("https://w.example", str(other))
        with pytest.raises(InvalidInput, match="not a public key"):
            list_of.add("https://w.example", "key")
        with pytest.raises(ConfigError, match="without TLS"):
            list_of.add("http://w.example", str(witness))
        with pytest.raises(ConfigError, match="needs an address"):
            list_of.add("https://user:secret@w.example", str(witness))
        with pytest.raises(Conflict, match="no witness in"):
            list_of.add(folder, str(witness))
        with pytest.raises(InvalidInput, match="not of a ledger"):
            to_serve(str(tmp_path / "served"), [str(witness)], new=True)
        assert not (tmp_path / "served").exists()
        assert list_of.all() == []
        with pytest.raises(Forbidden):
            Witnesses(memory.scoped(trust="agent"))
        with pytest.raises(Forbidden):
            Witnesses(memory.scoped(user="ann"))


def test_a_folder_with_another_witness_is_not_believed(place: Path, folder: Path) -> None:
    with witnessed(place, folder) as memory:
        memory.proof.checkpoint()
        shutil.rmtree(folder)
        to_serve(str(folder), [Keys(memory).all()[0].key], new=True)
        memory.remember("More.")
        assert "another one" in (memory.proof.checkpoint().witnesses[0].problem or "")
        assert "another one" in (memory.admin.verify().problem or "")


def test_the_folder_of_a_witness_can_be_read_without_its_key(place: Path, folder: Path) -> None:
    with witnessed(place, folder) as memory:
        memory.proof.checkpoint()
        (key,) = keys_folder().glob("*.witness.json")
        key.rename(key.with_name("away"))
        assert not Witnesses(memory).all()[0].signs
        assert "is not on this machine" in (memory.proof.checkpoint().witnesses[0].problem or "")
        without_last()
        assert memory.admin.verify().status == "anchored"
        with pytest.raises(NotFound, match="is not on this machine"):
            to_serve(str(folder), [])


@pytest.mark.parametrize(
    "spoiled", [b"", b"\xff", b"recollect/x\n10\nAAAA\n\n", b"x" * 3_000_000], ids=len
)
def test_what_a_folder_keeps_is_not_believed_unless_both_signed_it(
    place: Path, folder: Path, spoiled: bytes
) -> None:
    with witnessed(place, folder) as memory:
        note = memory.proof.checkpoint().note
        (kept,) = folder.rglob("10.note")
        for data in (spoiled, "\n".join([*note.split("\n")[:5], ""]).encode()):
            kept.write_bytes(data)
            report = memory.admin.verify()
            assert (report.status, "vouches" in (report.problem or "")) == ("anchored", True)
            memory.remember("More.")
            assert "is damaged" in (memory.proof.checkpoint().witnesses[0].problem or "")
        kept.write_text(note.replace("\n10\n", "\n99\n"))
        assert memory.admin.verify().status == "anchored"


def test_a_witness_over_http_cosigns(place: Path, tmp_path: Path) -> None:
    with filled(place) as memory:
        witness = to_serve(str(tmp_path / "served"), [Keys(memory).all()[0].key], new=True)
        with served(witness) as address:
            added = Witnesses(memory).add(address + "/", str(witness.key))
            assert added.place == address
            for _ in range(3):
                memory.remember("More.")
                made = memory.proof.checkpoint()
                assert (made.witnesses[0].problem, made.note.count("\u2014")) == (None, 2)
        memory.remember("More.")
        made = memory.proof.checkpoint()  # it is not there any more
        assert "did not answer" in (made.witnesses[0].problem or "")
        assert (made.size, memory.admin.verify().anchored_through) == (14, 14)
        assert "was not asked" in (memory.admin.verify().problem or "")


def test_a_name_for_several_witnesses_is_ambiguous(place: Path, folder: Path) -> None:
    with witnessed(place, folder) as memory:
        ring = checkpoints.ring_of(memory._handle.space, keys_folder(), memory._handle.seam)
        name = Witnesses(memory).all()[0].name
        ring.add_witness(PrivateKey(name, WITNESS, bytes(32)).public, "https://w.example")
        with pytest.raises(Ambiguous):
            Witnesses(memory).remove(name)


def test_copies_of_a_ledger_that_was_cut_or_rewritten_are_refused(
    place: Path, tmp_path: Path
) -> None:
    with filled(place) as memory:
        memory.proof.checkpoint()
        memory.remember("More.")
        memory.admin.backup(tmp_path / "sound")
        memory.admin.export("ndjson", tmp_path / "sound.ndjson")
    whole = (place / "events.wal").read_bytes()

    def refused(memory: Memory) -> None:
        with Memory.open(":memory:") as other:
            for act in (
                lambda: memory.admin.backup(tmp_path / "copy"),
                lambda: memory.admin.export("ndjson", tmp_path / "copy.ndjson"),
                lambda: memory.admin.copy_to(other),
            ):
                with pytest.raises(IntegrityError, match="not the ledger that was seen") as told:
                    act()
                assert "recollect admin verify" in str(told.value)
            assert other.status().seq <= 1
        assert not (tmp_path / "copy").exists()
        assert not (tmp_path / "copy.ndjson").exists()

    cut(place, 6)
    with reopened(place) as memory:
        refused(memory)
    (place / "events.wal").write_bytes(whole)
    chained_again(place / "events.wal", without=5)
    with reopened(place) as memory:
        memory.remember("So that there are enough.")
        refused(memory)
        without_last()
        memory.admin.backup(tmp_path / "copy")  # the control: nothing is known of it


def test_a_last_checkpoint_that_cannot_be_read_stops_no_backup(place: Path, tmp_path: Path) -> None:
    with filled(place) as memory:
        memory.proof.checkpoint()
        (last,) = keys_folder().glob("*.note")
        last.write_bytes(b"what")
        assert memory.admin.backup(tmp_path / "copy").seq == 10
