"""On the command line, what is doubtful says so, and what was refuted is left out."""

from __future__ import annotations

from recollect.contracts.chrono import ChronoRecord, ChronoStore
from tests.cli.running import Shell


def test_a_refuted_record_is_shown_only_if_asked_for(store: Shell) -> None:  # S0-14: the rule H18
    with ChronoStore(store.folder) as beliefs:
        beliefs.upsert(ChronoRecord(id="HYP-1", label="The cache halves latency.", confidence=0.0))
        beliefs.upsert(ChronoRecord(id="HYP-2", label="Latency is the disk.", is_hypothesis=True))
        beliefs.upsert(ChronoRecord(id="F-1", label="Latency is 400 ms.", confidence=0.5))
    chosen = ("--store", str(store.folder / ".chronomemory"))
    said = store.run(*chosen, "recall", "what about the latency?").out
    assert "HYP-1" not in said
    assert "HYP-2 · hypothesis · " in said
    assert "F-1 · confidence 0.50 · " in said
    assert "HYP-1 · refuted · " in store.run(*chosen, "recall", "latency", "--include", "all").out
    listed = store.run(*chosen, "list").out
    assert "[refuted] The cache halves latency." in listed
    assert "[hypothesis] Latency is the disk." in listed
    assert "[refuted] The cache halves latency." in store.run(*chosen, "list", "--recent").out
    packed = store.run(*chosen, "context", "what about the latency?").out
    assert "HYP-1" not in packed
    assert "Latency is the disk. [HYP-2] (hypothesis)" in packed
    why = store.run(*chosen, "admin", "why-not", "HYP-1", "latency").out
    assert "it was refuted: its confidence is 0" in why
