"""Small ledgers of every form, honest and forged, and damage to their bytes.

Responsible for lines whose digests match what they say, whatever that is: whoever can write a file
can hash, too. Leaves judging them to the tests. Invariant: a seed gives the same bytes again.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, Final

from recollect.ledger.codec import encode_body
from recollect.ledger.line import encode, erase, seq_of
from recollect.model.events import EventsErased, LedgerSealed

Fields = dict[str, Any]
_KINDS: Final = ("record.added", "record.tagged", "episode.observed", "space.opened", "no.such")
_ODD: Final = (
    b"\0", b"\n", b"\r", b"\r\n", b"\xff", b"\xc3\x28", b'"', b"}", b"{", b"0", b"\n\n", b"}\n",
    b'{"v":1,"seq":', b'","data":', b'"erased":"3"}', b"A", b" ",
)  # fmt: skip


def made(rng: random.Random) -> list[Fields]:
    """The fields of some events, in appends of one or more commands; a few erase or seal."""
    found: list[Fields] = []
    second = 0
    while len(found) < rng.choice((4, 12, 30)):
        sizes = rng.choice(([1], [1], [1], [1, 1], [3], [2, 1, 4], [12]))
        first, last = len(found) + 1, len(found) + sum(sizes)
        second += rng.choice((0, 1, 7))
        for number, size in enumerate(sizes):
            command = f"c{first}" + rng.choice(("", ".1", ":x")) + (f"-{number}" if number else "")
            for ordinal in range(1, size + 1):
                seq = len(found) + 1
                kind, origin, data = _said(rng, seq)
                found.append(
                    {
                        "v": 1, "seq": seq, "first": first, "last": last,
                        "id": f"{command}.{ordinal}", "kind": kind,
                        "at": f"2026-01-01T00:00:{second % 60:02}.000000Z", "origin": origin,
                        "salt": rng.randbytes(16), "data": data,
                    }
                )  # fmt: skip
    return found


def _said(rng: random.Random, seq: int) -> tuple[str, str, bytes]:
    chance = rng.random()
    if chance < 0.05:
        targets = tuple(rng.sample(range(1, seq + 1), min(seq, 2)))
        return (
            "events.erased",
            rng.choice(("person", "agent")),
            encode_body(EventsErased(targets=targets)),
        )
    if chance < 0.08:
        seal = LedgerSealed(first=1, count=seq - 1, head="?", digest="d" * 64, index_version=1)
        return "ledger.sealed", "system", encode_body(seal)
    data = rng.choice((b"{}", b"", b'{"x":1}', "caf\u00e9 \u2028".encode(), b"\xff\r\0}"))
    return rng.choice(_KINDS), rng.choice(("person", "agent", "unverified", "system")), data


def written(events: list[Fields]) -> list[bytes]:
    """Their lines, chained; a seal names the hash before it, and what is erased loses its body."""
    lines: list[bytes] = []
    prev = "0" * 64
    erased: dict[int, int] = {}
    for event in events:
        fields = {"prev": prev, **event}
        fields["data"] = fields["data"].replace(b'"head":"?"', b'"head":"%b"' % prev.encode())
        gone = fields.pop("gone", None)
        if gone is not None:
            erased[len(lines)] = gone
        line, prev = encode(**fields)
        lines.append(line)
    for place, by in erased.items():
        if seq_of(lines[place]) is not None:  # forged ones keep their bodies
            lines[place] = erase(lines[place].removesuffix(b"\n"), by) + b"\n"
    return lines


def forged(events: list[Fields], rng: random.Random) -> None:
    """One event says something else; everything after it is chained to that."""
    event = rng.choice(events)
    field, value = rng.choice(
        (
            ("v", rng.choice((2, 9999, 10_000))),
            ("seq", event["seq"] + rng.choice((-1, 1, 10**16))),
            ("first", event["first"] + rng.choice((-1, 1))),
            ("last", event["last"] + rng.choice((-1, 1, 20_000))),
            ("id", rng.choice(("x.2", ".1", "1", "x", "x.01", "x.1.1", "x" * 158 + ".1", "x" * 160,
                               "x" * 149 + ".1", "x" * 150 + ".1", "x" * 151 + ".1"))),
            ("kind", rng.choice(("a.b", "a", "A.b", "a.b.c", "a" * 40 + "." + "b" * 41))),
            ("at", rng.choice(("2025-01-01T00:00:00.000000Z", "2026-01-01T00:00:59.000000Z",
                               "2026-01-01T00:00:59.00000Z", "2026-01-01 00:00:59.000000Z"))),
            ("origin", rng.choice(("root", "Person", ""))),
            ("subject", rng.choice(("a" * 32, "A" * 32, "a"))),
            ("cipher", rng.choice((1, 0))),
            ("prev", rng.choice(("0" * 64, "A" * 64, "a" * 63, "?" * 64))),
            ("salt", rng.choice((bytes(16), bytes(15), bytes(17), b""))),
            ("gone", rng.choice((1, event["seq"], event["last"] + 1))),
            ("data", rng.choice((b'{"targets":[1]}', b'{"targets":"all"}', b"\n", b"x\ny"))),
        )
    )  # fmt: skip
    event[field] = value


def erased(events: list[Fields], rng: random.Random) -> None:
    """Some bodies go, as an event of the ledger orders it."""
    targets = tuple(rng.sample(range(1, len(events) + 1), min(3, len(events))))
    seq, body = len(events) + 1, EventsErased(targets=targets)
    for target in targets:
        events[target - 1]["gone"] = seq
    events.append(
        {
            **events[-1], "seq": seq, "first": seq, "last": seq, "id": "e.1", "gone": None,
            "kind": "events.erased", "origin": "person", "data": encode_body(body),
        }
    )  # fmt: skip


# Damage to the bytes.


def _flipped(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _odd(data: bytes, rng: random.Random) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.choice(_ODD) + data[place + rng.choice((0, 1)) :]


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _cut_out(data: bytes, rng: random.Random) -> bytes:
    start, end = sorted(rng.choices(range(len(data) + 1), k=2))
    return data[:start] + data[end:]


def _by_lines(change: Callable[[list[bytes], random.Random], None]) -> Damaging:
    def changed(data: bytes, rng: random.Random) -> bytes:
        lines = data.splitlines(keepends=True) if b"\r" not in data else data.split(b"\n")
        change(lines, rng)
        return b"".join(lines)

    return changed


def _dropped(lines: list[bytes], rng: random.Random) -> None:
    del lines[rng.randrange(len(lines))]


def _doubled(lines: list[bytes], rng: random.Random) -> None:
    lines.insert(rng.randrange(len(lines)), rng.choice(lines))


def _swapped(lines: list[bytes], rng: random.Random) -> None:
    one, other = rng.choices(range(len(lines)), k=2)
    lines[one], lines[other] = lines[other], lines[one]


def _capitals(lines: list[bytes], rng: random.Random) -> None:
    place = rng.randrange(len(lines))
    lines[place] = lines[place].upper().replace(b'"V"', b'"v"')


Damaging = Callable[[bytes, random.Random], bytes]
DAMAGE: Final[tuple[Damaging, ...]] = (
    _flipped,
    _odd,
    _cut,
    _cut_out,
    *map(_by_lines, (_dropped, _doubled, _swapped, _capitals)),
    lambda data, rng: data + bytes(rng.randrange(1, 5_000)),
    lambda data, rng: data.replace(b"\n", b"\r\n"),
    lambda data, rng: data.replace(b"\n", b"\r\n", 1),
    lambda data, rng: data + data,
    lambda data, rng: data.removesuffix(b"\n"),
    lambda data, rng: data.replace(rng.choice((b"a", b"1", b"0")), b"F", rng.randrange(1, 3)),
)


def ledgers(rng: random.Random, count: int) -> Iterator[bytes]:
    """So many ledgers, sound and not."""
    for _ in range(count):
        events = made(rng)
        if rng.random() < 0.3:
            erased(events, rng)
        if rng.random() < 0.4:
            forged(events, rng)
        data = b"".join(written(events))
        for _ in range(rng.choice((0, 1, 1, 2))):
            data = rng.choice(DAMAGE)(data, rng) or b"\n"
        yield data
