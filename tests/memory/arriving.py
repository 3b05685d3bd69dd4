"""What comes from another store follows the rules of a write, on every engine.

``Arriving`` is subclassed for each engine, with the fixture ``store``: one without a space.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect import Memory, Store
from recollect.errors import Conflict, Forbidden, InvalidInput, RecollectError
from recollect.index.statements import INDEX_VERSION
from recollect.ledger.chain import SALT_BYTES, Draft, chain, event_id
from recollect.ledger.codec import encode_body
from recollect.ledger.line import parse
from recollect.memory import handing_over
from recollect.memory.handle.handle import handle_of
from recollect.model.events import (
    KIND_OF,
    AnyBody,
    BranchClosed,
    Head,
    LedgerSealed,
    LossAccepted,
    Origin,
    SessionOpened,
    SpaceOpened,
)
from recollect.model.instants import from_microseconds, to_microseconds
from recollect.store.seam import REAL

END = "9999-12-31T23:59:59.999999Z"


def ahead(seconds: int) -> str:
    """An instant so many seconds after the clock of this machine."""
    return from_microseconds(to_microseconds(REAL.now()) + seconds * 1_000_000)


def head_of(raw: bytes) -> Head:
    line = parse(raw.rstrip(b"\n").rsplit(b"\n", 1)[-1])
    return Head(line.seq, line.hash, line.at)


def forged(raw: bytes, origin: Origin, body: AnyBody, at: str | None = None) -> bytes:
    """A ledger with one more event, made with nothing but its bytes."""
    head = head_of(raw)
    draft = Draft(event_id(f"forged{head.seq}", 1), KIND_OF[type(body)], origin, encode_body(body))
    data, _ = chain(head, at or max(head.at, REAL.now()), [draft], REAL.random(SALT_BYTES))
    return raw + data


def sealed(raw: bytes, digest: str, version: int = INDEX_VERSION) -> bytes:
    head = head_of(raw)
    body = LedgerSealed(
        first=1, count=head.seq, head=head.hash, digest=digest, index_version=version
    )
    return forged(raw, "system", body)


class Arriving:
    """The rules, against an engine."""

    def ours(self, store: Store) -> Memory:
        """The memory as a person's token sees it that reads and writes and no more."""
        store.space("main", create=True).remember("Tea is at four.")
        token = store.tokens.create("pw", space="main", trust="person").token
        return store.entered(token).space("main")

    def copied(self, memory: Memory) -> bytes:
        return b"".join(handing_over.ledger(memory))

    def test_what_is_sound_is_taken(self, store: Store) -> None:
        """The control of all that follow: the same forger, within the rules."""
        memory = self.ours(store)
        raw = forged(self.copied(memory), "person", SessionOpened(id="zz"), ahead(60))
        assert handing_over.receive(memory, raw).seq == head_of(raw).seq

    @pytest.mark.parametrize("at", [END, "2199-01-01T00:00:00.000000Z", None])
    def test_an_event_dated_ahead_of_the_clock_is_refused(
        self, store: Store, at: str | None
    ) -> None:
        memory = self.ours(store)
        raw = self.copied(memory)
        hostile = forged(raw, "person", SessionOpened(id="zz"), at or ahead(600))
        with pytest.raises(Conflict, match="is dated"):
            handing_over.receive(memory, hostile)
        assert self.copied(memory) == raw
        assert memory.remember("What time is it?").at[:4] == REAL.now()[:4]

    def test_the_same_by_push_and_pull_into_an_empty_memory(
        self, store: Store, tmp_path: Path
    ) -> None:
        with Memory.open(tmp_path / "other", embedder="none") as other:
            other.remember("Tea is at four.")
            path = next((tmp_path / "other").rglob("events.wal"))
            path.write_bytes(forged(path.read_bytes(), "person", SessionOpened(id="zz"), END))
        with Memory.open(tmp_path / "other", embedder="none") as other:
            target = store.space("main", create=True)
            with pytest.raises(Conflict, match="is dated"):
                other.admin.copy_to(target)
            handle = handle_of(target)
            with pytest.raises(Conflict, match="is dated"):  # without the look beforehand
                handle.space.receive(handle_of(other).space.pieces())
            assert handle.space.existing_head().seq == 0

    def test_a_false_seal_is_refused(self, store: Store) -> None:
        memory = self.ours(store)
        raw = self.copied(memory)
        with pytest.raises(RecollectError, match="the state that it seals"):
            handing_over.receive(memory, sealed(raw, "0" * 64))
        two = forged(sealed(raw, "0" * 64), "person", SessionOpened(id="zz"))
        with pytest.raises(RecollectError, match="the state that it seals"):
            handing_over.receive(memory, two)
        assert self.copied(memory) == raw
        assert store.space("main").admin.verify().ok

    def test_control_a_true_seal_is_taken_and_one_of_another_release_is_not_judged(
        self, store: Store
    ) -> None:
        memory = self.ours(store)
        raw = self.copied(memory)
        digest = handle_of(store.space("main")).space.digest(head_of(raw).seq)
        once = sealed(raw, digest)
        assert handing_over.receive(memory, once).seq == head_of(once).seq
        other = sealed(once, "0" * 64, INDEX_VERSION - 1)
        assert handing_over.receive(memory, other).seq == head_of(other).seq
        assert store.space("main").admin.verify().ok

    @pytest.mark.parametrize(
        ("origin", "body", "error"),
        [
            ("system", LossAccepted(seen_seq=1, seen_hash="0" * 64), Forbidden),
            ("person", BranchClosed(id="b", how="merged"), Forbidden),
            ("system", SpaceOpened(space="main"), InvalidInput),
        ],
    )
    def test_a_kind_that_needs_more_than_writing_is_refused(
        self, store: Store, origin: Origin, body: AnyBody, error: type[RecollectError]
    ) -> None:
        memory = self.ours(store)
        raw = self.copied(memory)
        with pytest.raises(error):
            handing_over.receive(memory, forged(raw, origin, body))
        assert self.copied(memory) == raw
