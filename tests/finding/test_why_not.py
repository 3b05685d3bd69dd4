"""Every reason for which something is left out of an answer is told, on memory and on files."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect import Memory
from recollect.errors import InvalidInput, NotFound
from recollect.model.presets import BUILT_IN, Preset
from recollect.model.values import WhyNot

EVEN = BUILT_IN["task"].weights
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


@pytest.fixture(params=["files", pytest.param("memory", marks=pytest.mark.nightly)])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    where = ":memory:" if request.param == "memory" else tmp_path / "of"
    with Memory.open(where, embedder="none") as opened:
        yield opened


@pytest.fixture
def near(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "near", embedder="static") as opened:
        yield opened


def told(why: WhyNot) -> tuple[str, tuple[str, ...]]:
    return why.reason, why.by


def test_what_is_there_has_its_place_and_its_shares(memory: Memory) -> None:
    memory.remember("The tea is in the tin")
    memory.remember("The tea and the tea pot")
    for place, hit in enumerate(memory.recall("tea pot").hits, 1):
        why = memory.admin.why_not(hit.id, "tea pot")
        assert (why.reason, why.place, why.unit) == ("there", place, "record")
        assert (why.score, why.relevance, why.shares) == (hit.score, hit.relevance, hit.shares)
        assert str(why) == f"it is there, at place {place}"


def test_a_record_of_another_user_is_reported_as_not_found(memory: Memory) -> None:
    ann, bob = memory.scoped(user="ann"), memory.scoped(user="bob")
    hers = ann.remember("The tea is hers")
    with pytest.raises(NotFound) as hidden:
        bob.admin.why_not(hers.id, "tea")
    with pytest.raises(NotFound) as missing:
        bob.admin.why_not("nothing", "tea")
    assert str(hidden.value) == str(missing.value).replace("nothing'", f"{hers.id}'")
    assert ann.admin.why_not(hers.id, "tea").reason == "there"


def test_what_was_superseded_names_its_successor(memory: Memory) -> None:
    old = memory.remember("The port is 5432", key="port")
    new = memory.remember("The port is 5433", key="port")
    why = memory.admin.why_not(old.id, "port")
    assert told(why) == ("replaced", (new.id,))
    assert new.id in why.detail
    assert memory.admin.why_not(old.id, "port", include=["replaced"]).reason == "there"


def test_what_is_shadowed_names_what_rested_on_it(memory: Memory) -> None:
    (said,) = memory.observe("The flight leaves on Tuesday")
    record = memory.remember("They fly on Tuesday", evidence=[said.id])
    memory.forget(record.id)
    assert told(memory.admin.why_not(said.id, "flight Tuesday")) == ("hidden", (record.id,))
    assert memory.admin.why_not(record.id, "flight Tuesday").reason == "forgotten"


def test_an_id_that_a_user_may_not_see_is_not_named(memory: Memory) -> None:
    (said,) = memory.scoped(user="ann").observe("The flight leaves on Tuesday")
    record = memory.remember("They fly on Tuesday", evidence=[said.id])
    memory.forget(record.id)
    why = memory.scoped(user="ann").admin.why_not(said.id, "flight Tuesday")
    assert record.id not in str(why.to_dict())


def test_what_is_forgotten_held_expired_or_not_yet_true_says_so(memory: Memory) -> None:
    (said,) = memory.observe("I drink tea")
    memory.forget(said.id)
    nobody = memory.scoped(trust="unverified")
    held = nobody.remember("The tea costs nothing")
    (heard,) = nobody.observe("The tea is free", role="tool")
    old = memory.remember("The tea is fresh", valid_to=LONG_AGO)
    later = memory.remember("The tea is sold", valid_from=datetime.now(UTC) + timedelta(days=1))
    gone = memory.remember("The tea is hot", expires=datetime.now(UTC) + timedelta(days=1))
    reasons = {
        said.id: "forgotten",
        held.id: "waiting",
        heard.id: "waiting",
        old.id: "expired",
        later.id: "expired",
        gone.id: "there",
    }
    assert {id: memory.admin.why_not(id, "tea").reason for id in reasons} == reasons
    assert "unverified" in memory.admin.why_not(held.id, "tea").detail
    assert "2020-01-01" in memory.admin.why_not(old.id, "tea").detail


def test_a_filter_or_another_unit_is_told_from_each_other(memory: Memory) -> None:
    fact = memory.remember("The tea is green", kind="fact")
    unit = memory.admin.why_not(fact.id, "tea", unit="episode")
    assert (unit.reason, unit.detail) == ("filtered", "its unit is record, not episode")
    where = memory.admin.why_not(fact.id, "tea", filter="kind = 'preference'")
    assert (where.reason, where.detail) == ("filtered", "the filter leaves it out")
    assert memory.admin.why_not(fact.id, "tea", filter="kind = 'fact'").reason == "there"


def test_what_shares_no_word_is_unfound(memory: Memory) -> None:
    tea = memory.remember("The tea is green")
    memory.remember("The harbour is closed")
    why = memory.admin.why_not(tea.id, "harbour")
    assert (why.reason, why.detail) == ("unfound", "it shares none of the words asked for")
    assert why.relevance is not None
    assert why.shares.get("words", 0.0) == 0.0
    empty = memory.admin.why_not(tea.id, "?")
    assert (empty.reason, empty.relevance) == ("unfound", None)


def test_a_text_deeper_than_the_search_is_unfound(memory: Memory) -> None:
    deep = memory.remember("Tea " + "and other things " * 30)
    with memory.batch() as batch:
        for n in range(200):
            batch.remember(f"tea {n}")
    why = memory.admin.why_not(deep.id, "tea")
    assert why.reason == "unfound"
    assert why.detail == "it shares tea, but 100 others match them better"
    everything = memory.admin.why_not(deep.id, "tea", k=1_000)
    assert (everything.reason, everything.place) == ("there", 201)


def test_what_is_not_near_either_is_unfound_and_says_so(near: Memory) -> None:
    deep = near.remember("Bulldozers need diesel")
    with near.batch() as batch:
        for n in range(310):
            batch.remember(f"Green tea with honey {n}")
    near.admin.embed()
    why = near.admin.why_not(deep.id, "green tea")
    assert why.reason == "unfound"
    assert "not among the 40 nearest in meaning" in why.detail


def test_a_source_goes_into_the_record_that_rests_on_it(memory: Memory) -> None:
    (said,) = memory.observe("I always drink green tea")
    record = memory.remember("Ann drinks green tea", evidence=[said.id])
    why = memory.admin.why_not(said.id, "green tea")
    assert told(why) == ("source", (record.id,))
    assert [source.id for source in memory.recall("green tea")[0].sources] == [said.id]


def test_what_ranks_too_low_names_its_place_and_those_before_it(memory: Memory) -> None:
    for n in range(6):
        memory.remember(f"tea number {n}")
    order = [hit.id for hit in memory.recall("tea", k=6)]
    why = memory.admin.why_not(order[4], "tea", k=2)
    assert (why.reason, why.place, why.by) == ("rank", 5, tuple(order[:2]))
    assert why.relevance == memory.recall("tea", k=6)[4].relevance
    assert why.detail.startswith("it comes at place 5, and 2 were asked for")


def test_what_is_not_relevant_enough_says_how_relevant_it_is(memory: Memory) -> None:
    record = memory.remember("The tea is green and grows on a hill in the sun")
    hit = memory.recall("tea bag pot kettle")[0]
    why = memory.admin.why_not(record.id, "tea bag pot kettle", min_relevance=0.99)
    assert why.reason == "floor"
    assert why.relevance == hit.relevance
    assert why.detail == f"its relevance is {hit.relevance:.2f}, and 0.99 was asked for"


def test_a_context_says_what_it_did_not_pack(memory: Memory) -> None:
    first = memory.remember("The museum opens on Mondays", confidence=0.9)
    second = memory.remember("The museum is closed on Mondays", confidence=0.3)
    memory.graph.link(second.id, first.id, "contradicts")
    (same,) = memory.observe("the museum opens on mondays!")
    long = memory.remember("Mondays at the museum " + "see the halls " * 25)
    why = {
        id: memory.admin.why_not(id, "museum mondays", preset="task", tokens=90)
        for id in (first.id, second.id, same.id, long.id)
    }
    packed = memory.context("museum mondays", tokens=90)
    assert packed.ids == (first.id,)
    assert (why[first.id].reason, why[first.id].place) == ("there", 1)
    assert why[first.id].shares == packed.hits[0].shares
    assert told(why[second.id]) == ("unpacked", (first.id,))
    assert "contradicts" in why[second.id].detail
    assert told(why[same.id]) == ("unpacked", (first.id,))
    assert "says the same" in why[same.id].detail
    assert told(why[long.id]) == ("unpacked", ())
    assert "over the token budget" in why[long.id].detail


def test_a_preset_s_floor_filter_and_guarantees_are_told(memory: Memory) -> None:
    memory.settings.presets.set(Preset(name="strict", weights=EVEN, floor=0.99))
    memory.settings.presets.set(
        Preset(name="picky", weights=EVEN, where="kind = 'preference'", guarantees=("rules",))
    )
    record = memory.remember("The tea is green and grows on a hill")
    rule = memory.remember("Never wake Ann", tags=["rules"])
    why = memory.admin.why_not(record.id, "tea", preset="strict")
    assert why.reason == "floor"
    assert why.detail.endswith("the preset's floor of 0.99")
    assert memory.admin.why_not(record.id, "tea", preset="picky").reason == "filtered"
    always = memory.admin.why_not(rule.id, "tea", preset="picky")
    assert (always.reason, always.place) == ("there", 1)
    assert always.detail.endswith("because the preset guarantees it")
    assert memory.admin.why_not(rule.id, "tea", preset="task").reason == "unfound"


def test_the_past_is_asked_about_as_it_was(memory: Memory) -> None:
    old = memory.remember("The port is 5432", key="port")
    before = memory.events.position
    memory.remember("The port is 5433", key="port")
    assert memory.at(before).admin.why_not(old.id, "port").reason == "there"


def test_what_makes_no_sense_is_refused(memory: Memory) -> None:
    record = memory.remember("The tea is green")
    with pytest.raises(NotFound, match="no preset"):
        memory.admin.why_not(record.id, "tea", preset="nonesuch")
    with pytest.raises(InvalidInput):
        memory.admin.why_not(record.id, "tea", k=0)
    with pytest.raises(InvalidInput):
        memory.admin.why_not(record.id, 5)  # type: ignore[arg-type]
