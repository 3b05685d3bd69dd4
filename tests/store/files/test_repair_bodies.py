"""A body that no reader can parse, though its hash is right: found, named, and given up."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.errors import IntegrityError
from recollect.ledger.line import encode, parse
from recollect.memory import Memory
from recollect.store.disk.layout import LEDGER

ADDED = b'{"id":"r9","text":"later","kind":"fact","confidence":0.5,"status":"active",'
NONSENSE = ADDED + b'"trust":"agent","nonsense":1}'
TOO_LARGE = b'{"targets":[18446744073709551616]}'


def append(folder: Path, kind: str, data: bytes) -> None:
    """Writes one more event to the file, as a program other than Recollect would."""
    ledger = folder / LEDGER
    last = parse(ledger.read_bytes().splitlines()[-1])
    seq = last.seq + 1
    raw, _ = encode(
        v=1,
        seq=seq,
        first=seq,
        last=seq,
        id="h.1",
        kind=kind,
        at=last.at,
        origin="person",
        prev=last.hash,
        salt=bytes(16),
        data=data,
    )
    with ledger.open("ab") as file:
        file.write(raw)


@pytest.mark.parametrize(
    ("kind", "data"), [("record.added", NONSENSE), ("events.erased", TOO_LARGE)]
)
def test_doctor_names_a_body_that_cannot_be_parsed_and_gives_it_up(
    tmp_path: Path, kind: str, data: bytes
) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.remember("The seat is by the window.")
    append(tmp_path, kind, data)
    with Memory.open(tmp_path, embedder="none") as memory:
        with pytest.raises(IntegrityError, match="could not be parsed"):
            memory.recall("seat")
        (problem,) = [finding for finding in memory.admin.doctor() if finding.level == "problem"]
        assert "could not be parsed" in problem.detail
        assert "--accept-loss" in str(problem.fix)
        memory.admin.accept_loss(reason="forged")
        assert memory.recall("seat").hits
        assert memory.admin.verify(deep=True).ok
        assert {finding.level for finding in memory.admin.doctor()} == {"ok", "note"}


def test_a_body_that_can_be_parsed_is_only_behind(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.remember("The seat is by the window.")
    append(tmp_path, "record.added", ADDED + b'"trust":"agent"}')
    with Memory.open(tmp_path, embedder="none") as memory:
        levels = {finding.what: finding.level for finding in memory.admin.doctor()}
        assert levels["index"] == "note"
        assert memory.get("r9").text == "later"
