"""Changed proofs: the script that checks them accepts none, and every check of it is needed.

The ledger is forged, so that it also has events that no release writes. Each changed proof is
different from every valid one. Controls: the script without one of its checks accepts some.
"""

from __future__ import annotations

import json
import random
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from recollect.ledger.line import encode, erase, parse
from recollect.ledger.tree import Frontier, inclusion, leaf
from recollect.proof.certificates import render
from recollect.proof.checkpoints import Checkpoint, sign
from recollect.proof.keys import LOG, WITNESS, PrivateKey
from recollect.proof.notes import Note
from recollect.proof.notes import render as note_bytes
from tests.ledger.forging import Fields, written
from tests.suites.conftest import Tell
from tests.suites.test_anchored import history

SOURCE: Final = (Path(__file__).parents[2] / "docs" / "verify_proof.py").read_text()
COUNT: Final = 300
NAME: Final = "recollect/test"
KEY: Final = PrivateKey(NAME, LOG, bytes(range(32)))
WATCHER: Final = PrivateKey("example.com/witness", WITNESS, bytes(range(1, 33)))
THIEF: Final = PrivateKey(NAME, LOG, bytes(range(2, 34)))
STRANGER: Final = PrivateKey("recollect/other", LOG, bytes(range(3, 35)))

Verify = Callable[..., list[str]]
Case = tuple[str, bytes, tuple[PrivateKey, ...]]  # how, the document, the keys that are given
BOTH: Final = (KEY, WATCHER)


def verifier(source: str = SOURCE) -> dict[str, Any]:
    """The script, loaded."""
    names: dict[str, Any] = {"__name__": "verify_proof"}
    exec(compile(source, "verify_proof.py", "exec"), names)
    return names


def events() -> list[Fields]:
    """Mostly records; the last ones erase, or look as if they did."""
    made = history(COUNT)
    made[40]["data"] = '{"text":"Grüße \\u202e \u202e"}'.encode()
    made[49]["data"] = b'{"text":"I owe 5","text":"I owe 5000"}'  # readers differ in what it says
    for seq, kind, origin, targets in (
        (5, "events.erased", "person", [7]),  # before there was anything to erase
        (290, "events.erased", "person", [7, 8]),
        (291, "events.erased", "person", [9]),
        (292, "events.erased", "agent", [7]),  # no release lets an agent erase
        (293, "record.added", "person", [7]),
    ):
        made[seq - 1] |= {
            "kind": kind,
            "origin": origin,
            "data": json.dumps({"targets": targets}, separators=(",", ":")).encode(),
        }
    return made


class Forge:
    """A ledger whose key the forger has, and proofs of its events."""

    def __init__(self) -> None:
        self.lines = [raw.removesuffix(b"\n") for raw in written(events())]
        self.leaves = [leaf(bytes.fromhex(parse(line).hash)) for line in self.lines]
        self._paths: dict[tuple[int, int], tuple[bytes, ...]] = {}
        self.notes = [self.signed(size) for size in (293, COUNT)]

    def signed(self, size: int, root: bytes = b"", by: PrivateKey = KEY) -> bytes:
        made = Checkpoint(NAME, size, root or Frontier().plus(self.leaves[:size]).root)
        note = sign(made, [by])
        cosigned = WATCHER.cosign(note.text, 1_800_000_000)
        return note_bytes(Note(note.text, (*note.signatures, cosigned)))

    def shown(self, seq: int, size: int) -> tuple[bytes, tuple[bytes, ...]]:
        if (seq, size) not in self._paths:
            self._paths[seq, size] = self._path(seq, size)
        return self.lines[seq - 1], self._paths[seq, size]

    def _path(self, seq: int, size: int) -> tuple[bytes, ...]:
        def node(level: int, index: int) -> bytes:
            under = self.leaves[index << level : (index + 1) << level]
            return Frontier().plus(under).root

        return tuple(inclusion(seq - 1, size, node))

    def proof(self, seq: int, which: int = 1) -> bytes:
        size = (293, COUNT)[which]
        return render(*self.shown(seq, size), self.notes[which]).encode()

    def erased(self, seq: int, by: int, which: int = 1) -> bytes:
        size = (293, COUNT)[which]
        line, path = self.shown(seq, size)
        erasing = self.shown(by, size)
        return render(erase(line, by), path, self.notes[which], erasing).encode()

    def valid(self) -> list[bytes]:
        seqs = (1, 2, 7, 8, 9, 41, 128, 256, 290, 291, 292, 293)
        whole = [self.proof(seq, which) for seq in seqs for which in (0, 1)]
        last = [self.proof(seq) for seq in (299, 300)]
        pairs = ((7, 290), (8, 290), (9, 291))
        return [*whole, *last, *(self.erased(*pair, which) for pair in pairs for which in (0, 1))]


def spelled(document: dict[str, Any]) -> bytes:
    return (json.dumps(document, indent=1) + "\n").encode()


# Changes of bytes.


def flipped(raw: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(raw))
    return raw[:at] + bytes([raw[at] ^ 1 << rng.randrange(8)]) + raw[at + 1 :]


def replaced(raw: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(raw))
    return raw[:at] + rng.choice((b"0", b"A", b'"', b" ", b"\\", b"")) + raw[at + 1 :]


def inserted(raw: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(raw) + 1)
    return raw[:at] + rng.choice((b" ", b"\n", b"0", b'"', b",", b"\xef\xbb\xbf")) + raw[at:]


def cut(raw: bytes, rng: random.Random) -> bytes:
    return raw[: rng.randrange(len(raw))]


def respelled(raw: bytes, rng: random.Random) -> bytes:
    """The same values, written in another way."""
    given = json.loads(raw)
    doubled = raw.replace(b'\n "path"', b'\n "event": "x",\n "path"', 1)
    first, last = raw.split(b"\n", 1), raw.rpartition(b"\n}")
    return rng.choice(
        [
            json.dumps(given).encode() + b"\n",
            json.dumps(given, indent=2).encode() + b"\n",
            json.dumps(given, indent=1, ensure_ascii=False).encode() + b"\n",
            json.dumps(given, indent=1, sort_keys=True).encode() + b"\n",
            spelled(dict(reversed(given.items()))),
            raw.replace(b"\n", b"\r\n"),
            raw + b"\n",
            doubled,
            first[0] + b'\n "format": "recollect-proof/2",\n' + first[1],
            last[0] + b',\n "key": "x"' + last[1] + last[2],
        ]
    )


# Changes of values, spelled as a proof is.


def changed_text(text: str, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    other = rng.choice(("", "0", "a", "A", "=", "\n", " ", "f", "}", "\u2014", "\ud800"))
    return text[:at] + other + text[at + rng.choice((0, 1)) :]


def field(raw: bytes, rng: random.Random) -> bytes:
    given = json.loads(raw)
    holder = rng.choice([given, given["erased_by"] or given])
    name = rng.choice(["event", "event", "checkpoint", "format", "path"])
    if name == "path":
        return path(raw, rng)
    holder = given if name in ("checkpoint", "format") else holder
    holder[name] = changed_text(holder[name], rng)
    return spelled(given)


def path(raw: bytes, rng: random.Random) -> bytes:
    given = json.loads(raw)
    hashes = rng.choice([given, given["erased_by"] or given])["path"]
    at = rng.randrange(len(hashes) or 1)
    match rng.randrange(6):
        case 0:
            hashes.insert(at, b64encode(rng.randbytes(32)).decode())
        case 1 if hashes:
            hashes.pop(at)
        case 2:
            rng.shuffle(hashes)
        case 3 if hashes:
            hashes[at] = b64encode(b64decode(hashes[at]) + b"x").decode()
        case 4 if hashes:
            hashes[at] = hashes[at][:-2] + chr(ord(hashes[at][-2]) + 1) + "="  # the same bytes
        case _ if hashes:
            hashes[at] = changed_text(hashes[at], rng)
    return spelled(given)


def fields(raw: bytes, rng: random.Random) -> bytes:
    """Fields that are missing, too many or of another type."""
    given = json.loads(raw)
    name = rng.choice(list(given))
    match rng.randrange(5):
        case 0:
            given.pop(name)
        case 4 if given["erased_by"]:
            given["erased_by"]["note"] = "x"
        case 1:
            given[rng.choice(("key", "keys", "Event", ""))] = "x"
        case 2:
            given[name] = rng.choice([None, 1, True, [], {}, "", [[]], {"event": 1, "path": [1]}])
        case _:
            given["format"] = rng.choice(("recollect-proof/2", "recollect-proof/01"))
    return spelled(given)


def mixed(raw: bytes, rng: random.Random, others: list[bytes]) -> bytes:
    """Some fields of one valid proof and the rest of another."""
    given, other = json.loads(raw), json.loads(rng.choice(others))
    for name in rng.sample(list(given), rng.randrange(1, 4)):
        given[name] = other[name]
    return spelled(given)


def signature(raw: bytes, rng: random.Random) -> bytes:
    """Lines of signature that are missing, doubled, in another order or of another key."""
    given = json.loads(raw)
    text, _, lines = given["checkpoint"].rpartition("\n\n")
    signed = lines.splitlines(keepends=True)
    match rng.randrange(4):
        case 0:
            signed.pop(rng.randrange(len(signed)))
        case 1:
            signed.append(rng.choice(signed))
        case 2:
            signed.append(STRANGER.sign(text + "\n").line)
        case _:
            signed[0] = THIEF.sign(text + "\n").line
    given["checkpoint"] = f"{text}\n\n{''.join(signed)}"
    return spelled(given)


# Forgeries: someone who can compute every hash, and has no key.


def forged(forge: Forge, rng: random.Random) -> bytes:
    seq = rng.choice((1, 2, 41, 256))
    line, way = forge.shown(seq, COUNT)
    was = parse(line)
    raw, digest = encode(
        v=1, seq=seq, first=seq, last=seq, id=was.id, kind=was.kind, at=was.at, prev=was.prev,
        origin=rng.choice(("person", "agent")), salt=rng.randbytes(16), data=b'{"text":"forged"}',
    )  # fmt: skip
    note = forge.notes[1]
    if rng.random() < 0.7:
        leaves = [*forge.leaves[: seq - 1], leaf(bytes.fromhex(digest)), *forge.leaves[seq:]]
        root = Frontier().plus(leaves).root
        note = forge.signed(COUNT, root, THIEF)
        if rng.random() < 0.5:  # a new text under the old signatures
            old = forge.notes[1].rpartition(b"\n\n")
            note = note.rpartition(b"\n\n")[0] + b"\n\n" + old[2]
    return render(raw[:-1], way, note).encode()


def misplaced(forge: Forge, rng: random.Random) -> bytes:
    """Events that erased nothing, or something else, beside a mark that names them."""
    line, way = forge.shown(rng.choice((7, 8, 9)), COUNT)
    by = rng.choice((5, 6, 290, 291, 292, 293))
    marked = erase(line, rng.choice((by, 6, 291)))
    erasing = rng.choice((forge.shown(by, COUNT), None))
    shown = rng.choice((marked, marked, line))
    return render(shown, way, forge.notes[1], erasing).encode()


def later(forge: Forge, rng: random.Random) -> bytes:
    """An event under a checkpoint that does not cover it."""
    seq = rng.randrange(294, COUNT + 1)
    line, way = forge.shown(seq, COUNT)
    return render(line, rng.choice((way, (), way[:3])), forge.notes[0]).encode()


GIVEN: Final[tuple[tuple[PrivateKey, ...], ...]] = (
    (), (KEY,), (WATCHER,), (STRANGER, WATCHER), (THIEF, WATCHER), (*BOTH, STRANGER),
    (*BOTH, THIEF),
)  # fmt: skip


def lonely(forge: Forge) -> bytes:
    """A checkpoint that only a witness signed."""
    text, _, lines = forge.notes[1].decode().rpartition("\n\n")
    note = f"{text}\n\n{lines.splitlines(keepends=True)[1]}".encode()
    return render(*forge.shown(2, COUNT), note).encode()


def doubled(forge: Forge) -> bytes:
    """An event whose body has one name twice."""
    return forge.proof(50)


def pathless(forge: Forge, rng: random.Random) -> bytes:
    """The only event of a ledger, whose empty path is something else than a list."""
    given = json.loads(render(forge.lines[0], (), forge.signed(1)))
    given["path"] = rng.choice(("", {}))
    return spelled(given)


def cases(forge: Forge, rng: random.Random) -> Iterator[Case]:
    """Changed proofs without end; none of them is a valid one with the right keys."""
    valid = forge.valid()
    known = set(valid)
    of_bytes = (flipped, replaced, inserted, cut, respelled, field, field, path, fields, signature)
    while True:
        raw = rng.choice(valid)
        for change in of_bytes:
            made = change(raw, rng)
            if made not in known:
                yield change.__name__, made, BOTH
        for how, made in (
            ("mixed", mixed(raw, rng, valid)),
            ("forged", forged(forge, rng)),
            *(("misplaced", misplaced(forge, rng)) for _ in range(4)),
            ("later", later(forge, rng)),
        ):
            if made not in known:
                yield how, made, BOTH
        yield "keys", raw, rng.choice(GIVEN)
        yield "lonely", lonely(forge), (WATCHER,)
        yield "doubled", doubled(forge), BOTH
        yield "pathless", pathless(forge, rng), BOTH


class Judge:
    """The script, with the keys that it is given."""

    def __init__(self, source: str = SOURCE) -> None:
        self._names = verifier(source)
        self._keys = {
            key: self._names["key_of"](str(key.public)) for key in (*BOTH, THIEF, STRANGER)
        }

    def accepts(self, raw: bytes, keys: tuple[PrivateKey, ...] = BOTH) -> bool:
        refused = (self._names["Wrong"], *self._names["FORM"])
        try:
            self._names["verify"](raw, [self._keys[key] for key in keys])
        except refused:
            return False
        return True


def none_is_accepted(count: int, tell: Tell) -> None:
    forge, judge, rng = Forge(), Judge(), random.Random(count)
    for raw in forge.valid():
        assert judge.accepts(raw)  # else nothing below means anything
    assert judge.accepts(render(forge.lines[0], (), forge.signed(1)).encode())
    seen: Counter[str] = Counter()
    for how, raw, keys in cases(forge, rng):
        assert not judge.accepts(raw, keys), (how, raw)
        seen[how] += 1
        if seen.total() == count:
            break
    kinds = ", ".join(f"{how} {n:,}" for how, n in sorted(seen.items()))
    tell(f"{count:,} changed proofs: 0 accepted ({kinds})")


def test_changed_proofs_are_refused(tell: Tell) -> None:
    none_is_accepted(2_500, tell)


@pytest.mark.nightly
def test_300_000_changed_proofs_are_refused(tell: Tell) -> None:
    none_is_accepted(300_000, tell)


@pytest.mark.nightly
def test_every_byte_of_a_proof_matters(tell: Tell) -> None:
    forge, judge, count = Forge(), Judge(), 0
    for raw in (forge.proof(41), forge.erased(7, 290)):
        for at in range(len(raw)):
            for bit in range(8):
                assert not judge.accepts(raw[:at] + bytes([raw[at] ^ 1 << bit]) + raw[at + 1 :])
                count += 1
    tell(f"{count:,} single bits changed: 0 accepted")


# What each check is there for: without it, some changed proof is accepted.
CHECKS: Final = {
    "spelling": "    need(json.dumps(given, indent=1)",
    "names": "        need(len(dict(pairs)) == len(pairs), ",
    "fields": "    need(list(given) == FIELDS, ",
    "fields of an erasure": "        need(list(later) == FIELDS[1:3], ",
    "base64": "    need(b64encode(blob).decode() == text, ",
    "version": '    need(given["format"] == ',
    "signature": "        Ed25519PublicKey.from_public_bytes(raw).verify(",
    "other signatures": "        need(key or others, ",
    "every key": "    need(not left, ",
    "key of the ledger": '    need((note["origin"], 1) in ',
    "header": '    need(sha256(line["header"].encode())',
    "body": '        need(sha256(body).hexdigest() == line["body"], ',
    "list of hashes": '    need(isinstance(given["path"], list), ',
    "length of the path": "        need(position == 0 and not path, ",
    "root": '    need(root == decoded(note["root"], ',
    "erasing event": '        need(erasing["seq"] == line["by"], ',
    "order of an erasure": '        need(int(erasing["seq"]) > int(line["seq"]), ',
    "kind of erasure": '        need(erasing["kind"] == ',
    "who erases": '        need(erasing["origin"] in ',
    "targets": '        need(int(line["seq"]) in parsed(erasing["data"])["targets"], ',
}


def without(check: str) -> str:
    """The script with one check left out."""
    lines = SOURCE.splitlines()
    (at,) = [at for at, line in enumerate(lines) if line.startswith(CHECKS[check])]
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines[at] = f"{indent}pass" if check != "other signatures" else f"{indent}others = True"
    return "\n".join(lines)


@pytest.mark.parametrize("check", CHECKS)
def test_control_without_a_check_a_changed_proof_is_accepted(check: str) -> None:
    forge, judge, rng = Forge(), Judge(without(check)), random.Random(5)
    for tried, (_, raw, keys) in enumerate(cases(forge, rng)):
        if judge.accepts(raw, keys):
            return
        assert tried < 20_000, f"no changed proof was accepted without the check of the {check}"


def test_the_controls_cover_every_check_of_the_script() -> None:
    """Those that are not listed only say sooner, or more clearly, what is wrong."""
    found = [line for line in SOURCE.splitlines() if line.lstrip().startswith("need(")]
    listed = [line for line in found if any(line.startswith(each) for each in CHECKS.values())]
    assert len(listed) == len(CHECKS) - 1  # a signature is checked by its library
    assert len(found) - len(listed) == FORM_CHECKS


FORM_CHECKS: Final = 10
