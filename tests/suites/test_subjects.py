"""A tenth of many subjects is erased: no byte of them is left, and the others are as they were.

Every file is searched: of the workspace with its pages, exports and backups, of the home folder, of
a backup outside, and of a space restored from that backup. Each word is looked for in every form
that ``canaries`` knows; the test counts them by encoding.
"""

from __future__ import annotations

import json
import random
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from recollect import Memory
from recollect.errors import IntegrityError
from recollect.ledger.codec import decode
from recollect.ledger.erasure import lines_of
from recollect.ledger.line import Line, encode, parse, seq_of
from recollect.ledger.scan import scan
from recollect.memory.keys import Keys
from recollect.memory.store import Store
from recollect.store.files import erased_bodies
from recollect.store.keys.subjects import Subjects
from tests.suites.canaries import canary, found
from tests.suites.conftest import Tell

ENCODINGS = ("UTF-8", "UTF-16LE", "base64", "hex", "JSON escapes")


class World(NamedTuple):
    memory: Memory
    top: Path
    backup: str
    words: dict[str, str]  # of each person
    gone: list[str]
    kept: list[str]


def encoding_of(form: str) -> str:
    """Which of the five a form of ``canaries`` is."""
    starts = {"UTF-16": "UTF-16LE", "base64": "base64", "hex": "hex", "escaped": "JSON escapes"}
    return next((name for start, name in starts.items() if form.startswith(start)), "UTF-8")


def hits(top: Path, words: Iterable[str]) -> tuple[Counter[str], set[str]]:
    """How often the words are found, by encoding, and in which files."""
    places = found(top, words)
    return Counter(encoding_of(form) for _, _, form in places), {name for name, _, _ in places}


def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subjects: int) -> World:
    """Each person has said a word, in the clear and encoded, and it is in pages and exports."""
    where, rng = tmp_path / "w", random.Random(subjects)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    memory = Memory.open(where, embedder="none")
    memory.settings.set_subjects("users")
    Keys(memory).create()
    names = [f"person{n}" for n in range(subjects)]
    words = {name: canary(rng) for name in names}
    for name, word in words.items():
        handle = memory.scoped(user=name)
        (said,) = handle.observe(f"I live in {word}")
        record = handle.remember(f"Lives in {word}", key="home", evidence=[said.id])
        raw = word.encode()
        coded = f"{b64encode(raw).decode()} {raw.hex()} {json.dumps(word)}"
        memory.revise(record.id, text=f"Moved to {word}, that is {coded}")
    memory.proof.checkpoint()
    memory.pages.render()
    memory.admin.export("ndjson", where / "all.ndjson")
    memory.admin.export("pages", where / "wiki")
    memory.admin.backup(None)
    backup = memory.admin.backup(str(tmp_path / "outside")).path
    gone = names[::10]
    return World(memory, tmp_path, backup, words, gone, [one for one in names if one not in gone])


def stored(memory: Memory) -> dict[int, bytes]:
    """Every line of the ledger."""
    lines = lines_of(memory._handle.space.pieces())
    return {seq_of(raw) or 0: raw for raw in lines}


def recalled(world: World, memory: Memory) -> dict[str, bytes]:
    """What each of the others is answered, as bytes."""
    answers = dict[str, bytes]()
    for name in world.kept:
        handle, word = memory.scoped(user=name), world.words[name]
        hits = [(hit.id, hit.text) for hit in handle.recall(word)]
        answers[name] = msgspec.json.encode((hits, handle.list(), handle.sessions.episodes()))
    return answers


def run_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subjects: int
) -> tuple[Counter[str], Counter[str], World]:
    world = made(tmp_path, monkeypatch, subjects)
    memory, words = world.memory, [world.words[name] for name in world.gone]
    before, files = hits(tmp_path, words)
    places = ("w/index.db", "w/pages/", "w/wiki/", "w/all.ndjson")
    assert [one for one in places if not any(file.startswith(one) for file in files)] == []
    assert not any(file.endswith("events.wal") for file in files)  # encrypted, also in backups
    answers, lines = recalled(world, memory), stored(memory)
    erased = {seq for name in world.gone for seq in memory.erase(subject=name).events}
    assert recalled(world, memory) == answers
    now = stored(memory)
    assert {seq: now[seq] for seq in lines if seq not in erased} == {
        seq: raw for seq, raw in lines.items() if seq not in erased
    }
    assert len(erased) == 3 * len(world.gone)
    assert memory.admin.verify(deep=True).status == "anchored"  # with the checkpoint of before
    with Store.restore_backup(world.backup, tmp_path / "again") as again:
        assert again.admin.verify(deep=True).ok
        assert recalled(world, again) == answers
    memory.close()
    return before, hits(tmp_path, words)[0], world


@pytest.mark.parametrize(
    "subjects", [30, pytest.param(1_000, marks=pytest.mark.nightly)], ids=["bounded", "full"]
)
def test_no_byte_of_an_erased_subject_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell: Tell, subjects: int
) -> None:
    started = time.perf_counter()
    before, after, world = run_suite(tmp_path, monkeypatch, subjects)
    tell(
        f"subjects: {subjects:,} subjects, {len(world.gone):,} erased: {before.total():,} hits "
        f"before {dict(before)}, {after.total()} after; {len(world.kept)} others byte for byte as "
        f"before; {time.perf_counter() - started:.0f} s"
    )
    assert set(before) >= {*ENCODINGS} - {"UTF-16LE"}  # nothing of ours writes UTF-16
    assert not after


def test_control_the_search_finds_each_encoding(tmp_path: Path) -> None:
    word = canary(random.Random(1))
    forms = {
        "UTF-8": word.encode(),
        "UTF-16LE": word.encode("utf-16-le"),
        "base64": b64encode(b"x" + word.encode()),
        "hex": word.encode().hex().encode(),
        "JSON escapes": json.dumps(word).encode("ascii"),
    }
    assert tuple(forms) == ENCODINGS
    for name, data in forms.items():
        (tmp_path / "file").write_bytes(b"\0\xff" + data + b"\xff\0")
        assert set(hits(tmp_path, [word])[0]) == {name}
    assert not hits(tmp_path, [canary(random.Random(2))])[0]


@pytest.mark.parametrize("broken", ["key", "index", "exports"])
def test_what_is_left_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """The controls: a key and lists that are not kept, and an index that is not written again."""
    if broken == "key":
        monkeypatch.setattr(Subjects, "destroy", lambda *_: ())
        monkeypatch.setattr(Subjects, "note_erased", lambda *_: None)
    elif broken == "index":
        monkeypatch.setattr(erased_bodies, "clean_index", lambda *_: None)
    else:
        monkeypatch.setattr(erased_bodies, "remove_exports", lambda *_: [])
    try:
        _, after, world = run_suite(tmp_path, monkeypatch, 20)
    except AssertionError:
        return  # noticed before the search
    if broken != "key":
        assert after
        return
    with Memory.open(tmp_path / "again") as again:
        assert [one for name in world.gone for one in again.scoped(user=name).list()] != []


# --- ciphertexts in the place of others


def two_spaces(top: Path, monkeypatch: pytest.MonkeyPatch, people: int) -> Store:
    """The same people in two spaces of one store, each with three events of one kind and more."""
    monkeypatch.setenv("HOME", str(top / "home"))
    store = Store.open(top / "w", embedder="none")
    for name in ("main", "team"):
        memory = store.space(name)
        memory.settings.set_subjects("users")
        for number in range(people):
            handle = memory.scoped(user=f"person{number}")
            for place in range(3):
                handle.remember(f"{name} {number} {place}")
            handle.observe(f"{name} {number} said")
    return store


def encrypted(memory: Memory) -> list[Line]:
    appends = scan(memory._handle.space.pieces())
    return [line for one in appends for line in one.lines if line.subject is not None]


def swaps(lines: list[Line], others: list[Line]) -> Iterator[tuple[str, Line, Line]]:
    """Every event with the body of another: of the same person, of others, of another space."""
    for line in lines:
        for other in lines:
            if other.seq != line.seq:
                same = other.subject == line.subject
                yield ("another event's" if same else "another subject's"), line, other
        for other in others:
            yield "another space's", line, other


def test_every_swapped_ciphertext_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tell: Tell
) -> None:
    store = two_spaces(tmp_path, monkeypatch, 6)
    memory, refused = store.space("main"), Counter[str]()
    ciphers = memory._handle.space.subjects
    own, others = encrypted(memory), encrypted(store.space("team"))
    for line in own:
        assert decode(line, ciphers).body is not None
    for what, line, other in swaps(own, others):
        with pytest.raises(IntegrityError):
            decode(msgspec.structs.replace(line, data=other.data), ciphers)
        refused[what] += 1
    store.close()
    tell(f"subjects: {refused.total():,} swapped ciphertexts refused: {dict(refused)}")
    assert set(refused) == {"another event's", "another subject's", "another space's"}


def written_anew(raw: bytes, bodies: dict[int, bytes]) -> bytes:
    """A ledger with other bodies, whose commitments and chain are computed again."""
    lines, prev = list[bytes](), ""
    for old in raw.splitlines():
        line = parse(old)
        salt = bytes.fromhex(json.loads(old)["salt"])
        fresh, prev = encode(
            v=line.v,
            seq=line.seq,
            first=line.first,
            last=line.last,
            id=line.id,
            kind=line.kind,
            at=line.at,
            origin=line.origin,
            prev=prev or line.prev,
            salt=salt,
            data=bodies.get(line.seq, line.data or b""),
            subject=line.subject,
            cipher=line.cipher,
        )
        lines.append(fresh)
    return b"".join(lines)


@pytest.mark.parametrize("what", ["another event's", "another subject's", "another space's"])
def test_a_ledger_written_anew_around_a_swap_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """The chain alone accepts it: whoever can write the file can hash. The key cannot be had."""
    with two_spaces(tmp_path, monkeypatch, 2) as store:
        memory = store.space("main")
        pairs = list(swaps(encrypted(memory), encrypted(store.space("team"))))
        line, other = next((a, b) for kind, a, b in pairs if kind == what and a.kind == b.kind)
    path = tmp_path / "w" / "events.wal"
    for index in path.parent.glob("index.db*"):
        index.unlink()
    raw = path.read_bytes()
    path.write_bytes(written_anew(raw, {}))
    with Memory.open(path.parent) as memory:
        assert len(memory.list()) == 6  # the control: written anew, it is the same ledger
    for index in path.parent.glob("index.db*"):
        index.unlink()
    path.write_bytes(written_anew(raw, {line.seq: other.data or b""}))
    with Memory.open(path.parent) as memory:
        assert memory.admin.verify().ok  # without a checkpoint, the bare chain sees nothing
        with pytest.raises(IntegrityError, match=f"event {line.seq}"):
            memory.list()
