"""The conformance suite of ``recollect.contracts.chrono.ChronoStore`` (S0), on every engine.

Subclass ``ChronoSuite`` and define a fixture ``store`` with an empty store that is open.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from recollect.contracts.chrono import ChronoRecord, ChronoStore
from recollect.errors import InvalidInput, NotFound
from recollect.model.values import Record

WATER: Final = "Water freezes at 0°C at standard pressure"
WRONG_IDS: Final = ("", " ", "two words", "é", "a\nb", "x" * 200, "a'b")
CHANGES: Final[tuple[tuple[str, Any], ...]] = (
    ("label", "Water boils at 100°C."),
    ("label", ""),
    ("kind", "requirement"),
    ("source_type", "inferred"),
    ("source_type", "hearsay"),
    ("confidence", 0.25),
    ("evidence", []),
    ("evidence", ["textbook-chemistry"]),
    ("evidence", ["NIST", "textbook-chemistry", "paper §4.2"]),
    ("is_hypothesis", True),
    ("about", "water"),
    ("about", None),
    ("epistemic_boundary", ["lab"]),
    ("model_assumptions", {"pressure": 1.0}),
    ("recursion_depth", 2),
    ("data", {"unit": "celsius"}),
    ("data", {}),
)


def water(**more: Any) -> ChronoRecord:
    fields: dict[str, Any] = {
        "id": "FACT-001",
        "kind": "fact",
        "label": WATER,
        "source_type": "observed",
        "confidence": 1.0,
        "evidence": ["NIST", "textbook-chemistry"],
        "about": "physics",
        "data": {"unit": "kelvin"},
    }
    return ChronoRecord(**fields | more)


def ids(records: list[ChronoRecord]) -> list[str]:
    return [record.id for record in records]


class ChronoSuite:
    """Every engine passes this."""

    @pytest.fixture
    def store(self) -> ChronoStore:
        """An empty store that is open; defined by subclasses."""
        raise NotImplementedError

    # Writing.

    def test_a_record_needs_an_id(self, store: ChronoStore) -> None:  # S0-6
        with pytest.raises(TypeError):
            ChronoRecord()  # type: ignore[call-arg]
        with pytest.raises(InvalidInput, match="needs an id"):
            ChronoRecord(id="")
        for id in WRONG_IDS:
            record = water()
            record.id = id
            with pytest.raises(InvalidInput):
                store.upsert(record)
        assert store.query(status=None) == []

    def test_all_other_fields_have_safe_defaults(self, store: ChronoStore) -> None:  # S0-7
        store.upsert(ChronoRecord(id="X"))
        store.upsert(ChronoRecord(id="Y"))
        found = store.get("X")
        assert found is not None
        assert found == ChronoRecord(id="X")
        assert (found.kind, found.status, found.label) == ("fact", "active", "")
        assert (found.confidence, found.source_type) == (0.7, "observed")
        assert (found.evidence, found.data, found.is_hypothesis) == ([], {}, False)
        assert (found.epistemic_boundary, found.model_assumptions) == ([], {})
        assert (found.recursion_depth, found.about) == (0, None)
        for changed in (found, ChronoRecord(id="A")):
            changed.evidence.append("mine")
            changed.data["mine"] = 1
            changed.epistemic_boundary.append("mine")
            changed.model_assumptions["mine"] = 1
        for other in (ChronoRecord(id="B"), store.get("X"), store.get("Y")):
            assert other is not None
            assert (other.evidence, other.data) == ([], {}), "no record shares its defaults"
            assert (other.epistemic_boundary, other.model_assumptions) == ([], {})

    def test_every_field_comes_back(self, store: ChronoStore) -> None:
        # S0-8 S0-9 S0-28
        guess = ChronoRecord(
            id="HYP-001",
            kind="hypothesis",
            label="Model generalization gap < 5% of Bayes-optimal \u2028 naïve 🧪",
            is_hypothesis=True,
            confidence=0.75,
            source_type="inferred",
            evidence=["REQ-NN-006", "paper §4.2"],
            epistemic_boundary=["bench B"],
            model_assumptions={"prior": [0.5]},
            recursion_depth=1,
            data={"deep": {"list": [1, None, "°"]}},
            about="bench-b",
        )
        for record in (water(), guess):
            store.upsert(record)
            assert store.get(record.id) == record
        assert store.query() == [water(), guess]

    def test_the_same_upsert_again_changes_nothing(self, store: ChronoStore) -> None:  # S0-10
        store.upsert(water())
        before = store.memory.events.position
        for _ in range(3):
            store.upsert(water())
        assert store.query() == [water()]
        assert store.memory.events.position == before, "no event was written"
        assert _kept(store).reinforcement_count == 0

    def test_an_upsert_updates_the_record(self, store: ChronoStore) -> None:  # S0-11
        store.upsert(water())
        for name, value in CHANGES:
            changed = water(**{name: value})
            assert changed != water()
            store.upsert(changed)
            assert store.get("FACT-001") == changed, name
            assert store.query() == [changed], "it is one record"
            store.upsert(water())
            assert store.get("FACT-001") == water(), name
        assert _kept(store).reinforcement_count == 0, "a correction does not confirm"
        assert {one.what for one in store.memory.history("FACT-001")} == {"added", "revised"}
        assert len(store.memory.history("FACT-001")) == 1 + 2 * len(CHANGES)

    def test_what_is_not_a_record_is_refused(self, store: ChronoStore) -> None:
        with pytest.raises(InvalidInput, match="ChronoRecord"):
            store.upsert({"id": "FACT-001"})  # type: ignore[arg-type]
        for name, value in (
            ("confidence", 1.5),
            ("confidence", "0.7"),
            ("evidence", "NIST"),
            ("is_hypothesis", "no"),
            ("kind", ""),
            ("status", ""),
            ("label", 7),
            ("label", "\0"),
            ("data", {"chrono": {}}),
            ("data", {"bad": object()}),
        ):
            with pytest.raises(InvalidInput):
                store.upsert(water(**{name: value}))
        assert store.query(status=None) == []

    # Reading.

    def test_query_gives_all_active_records(self, store: ChronoStore) -> None:
        # S0-12 S0-20: in the order in which they were first written
        for id in ("C", "A", "B"):
            store.upsert(ChronoRecord(id=id, label=f"statement {id}"))
        store.upsert(ChronoRecord(id="C", label="another"))
        store.delete("A")
        assert ids(store.query()) == ["C", "B"]
        assert ids(store.query(status="tombstone")) == ["A"]
        assert ids(store.query(status=None)) == ["C", "A", "B"]

    def test_query_filters_by_kind(self, store: ChronoStore) -> None:  # S0-13
        for id, kind in (("F", "fact"), ("R", "requirement"), ("O", "o'clock"), ("G", "fact")):
            store.upsert(ChronoRecord(id=id, kind=kind, label=f"statement {id}"))
        assert ids(store.query(kind="fact")) == ["F", "G"]
        assert ids(store.query(kind="requirement")) == ["R"]
        assert ids(store.query("o'clock")) == ["O"]
        assert store.query(kind="fac") == []

    def test_the_rag_filter_takes_06_and_more(self, store: ChronoStore) -> None:  # S0-14
        for id, confidence in (("a", 0.0), ("b", 0.59), ("c", 0.6), ("d", 0.61), ("e", 1.0)):
            store.upsert(ChronoRecord(id=id, label=id, confidence=confidence))
        assert ids(store.query(rag_filter=True)) == ["c", "d", "e"]
        assert ids(store.query(rag_filter=False)) == ["a", "b", "c", "d", "e"]
        assert ids(store.query(min_confidence=0.1, rag_filter=True)) == ["c", "d", "e"]
        assert ids(store.query(min_confidence=0.7, rag_filter=True)) == ["e"]
        with pytest.raises(InvalidInput):
            store.query(rag_filter="no")  # type: ignore[arg-type]

    def test_the_least_confidence_is_inclusive(self, store: ChronoStore) -> None:  # S0-15
        for id, confidence in (("a", 0.89), ("b", 0.9), ("c", 0.95)):
            store.upsert(ChronoRecord(id=id, kind=f"k{id}", label=id, confidence=confidence))
        assert ids(store.query(min_confidence=0.9)) == ["b", "c"]
        assert ids(store.query(kind="kc", min_confidence=0.9)) == ["c"]
        for wrong in (1.01, -0.1, float("nan"), "0.9"):
            with pytest.raises(InvalidInput):
                store.query(min_confidence=wrong)  # type: ignore[arg-type]

    def test_an_unknown_id_gives_none(self, store: ChronoStore) -> None:
        # S0-16: an id is never the beginning of another
        store.upsert(water())
        assert store.get("FACT-001") == water()
        for id in ("FACT-002", "FACT", "FACT-0", "fact-001", "", "two words", "\0"):
            assert store.get(id) is None
        with pytest.raises(InvalidInput):
            store.get(water())  # type: ignore[arg-type]

    def test_a_record_can_be_changed_freely(self, store: ChronoStore) -> None:
        # S0-17: nothing is stored before upsert
        given = water()
        store.upsert(given)
        given.evidence.append("unsaid")
        given.data["unsaid"] = True
        found = store.get("FACT-001")
        assert found is not None
        assert found == water()
        found.label, found.confidence, found.status = "Ice melts.", 0.5, "deprecated"
        found.source_type, found.is_hypothesis = "inferred", True
        found.evidence.append("mine")
        assert store.get("FACT-001") == water()
        assert store.query() == [water()]
        store.upsert(found)
        assert store.get("FACT-001") == found

    # Deleting.

    def test_delete_leaves_a_tombstone(self, store: ChronoStore) -> None:
        # S0-18 S0-20 S0-21
        store.upsert(water())
        store.upsert(ChronoRecord(id="other", label="another fact"))
        store.delete("FACT-001")
        found = store.get("FACT-001")
        assert found == water(status="tombstone"), "nothing else of it has changed"
        assert ids(store.query()) == ["other"]
        assert ids(store.query(kind="fact", rag_filter=True)) == ["other"]
        assert [one.what for one in store.memory.history("FACT-001")] == ["added", "forgotten"]
        before = store.memory.events.position
        store.delete("FACT-001")
        assert store.memory.events.position == before

    def test_deleting_what_is_not_there_is_told(self, store: ChronoStore) -> None:
        store.upsert(water())
        for id in ("FACT-002", "FACT"):
            with pytest.raises(NotFound):
                store.delete(id)
        with pytest.raises(InvalidInput):
            store.delete("")
        assert store.query() == [water()]

    def test_a_tombstone_comes_back_with_an_upsert(self, store: ChronoStore) -> None:
        store.upsert(water())
        store.delete("FACT-001")
        gone = store.get("FACT-001")
        assert gone is not None
        gone.confidence = 0.5
        store.upsert(gone)
        assert store.get("FACT-001") == water(status="tombstone", confidence=0.5)
        assert store.query() == []
        store.upsert(water())
        assert store.query() == [water()]

    def test_another_status_is_kept_and_is_not_active(self, store: ChronoStore) -> None:  # S0-8
        for word in ("invalidated", "deprecated", "hypothesis", "draft", "archived", "mine"):
            store.upsert(water(status=word))
            before = store.memory.events.position
            store.upsert(water(status=word))
            assert store.memory.events.position == before
            assert store.get("FACT-001") == water(status=word)
            assert store.query() == []
            assert store.query(status=word) == [water(status=word)]
            store.delete("FACT-001")
            assert ids(store.query(status="tombstone")) == ["FACT-001"]
            store.upsert(water(status="active"))
            assert store.query() == [water()]

    # Hypotheses.

    @pytest.mark.parametrize("confirmed", [True, False])
    def test_a_hypothesis_is_updated_after_the_experiment(
        self, store: ChronoStore, confirmed: bool
    ) -> None:
        # S0-28 S0-29 S0-30
        first = ChronoRecord(
            id="HYP-001",
            kind="hypothesis",
            label="Model generalization gap < 5% of Bayes-optimal",
            is_hypothesis=True,
            confidence=0.75,
            source_type="inferred",
            evidence=["REQ-NN-006", "paper §4.2"],
        )
        store.upsert(first)
        rec = store.get("HYP-001")
        assert rec is not None
        rec.is_hypothesis = False
        rec.source_type = "observed"
        rec.confidence = 1.0 if confirmed else 0.0
        rec.evidence.append("bench-B-seed42: nll_gap=0.031")
        store.upsert(rec)
        found = store.get("HYP-001")
        assert found is not None
        assert (found.is_hypothesis, found.source_type) == (False, "observed")
        assert found.confidence == float(confirmed)
        assert found.evidence == ["REQ-NN-006", "paper §4.2", "bench-B-seed42: nll_gap=0.031"]
        assert (found.kind, found.label) == (first.kind, first.label)
        assert ids(store.query(rag_filter=True)) == (["HYP-001"] if confirmed else [])
        assert ids(store.query()) == ["HYP-001"]

    def test_a_confidence_of_0_and_of_1_is_legal(self, store: ChronoStore) -> None:  # S0-30
        for id, confidence in (("none", 0.0), ("all", 1.0)):
            store.upsert(ChronoRecord(id=id, label=id, confidence=confidence))
            assert store.get(id) == ChronoRecord(id=id, label=id, confidence=confidence)

    def test_an_untouched_chain_is_valid(self, store: ChronoStore) -> None:  # S0-22
        assert store.chain_valid() is True
        store.upsert(water())
        store.upsert(water(confidence=0.3))
        store.delete("FACT-001")
        assert store.chain_valid() is True


def _kept(store: ChronoStore) -> Record:
    found = store.memory.get("FACT-001")
    assert isinstance(found, Record)
    return found
