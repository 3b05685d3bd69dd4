"""Presets: a person changes one with a form, after seeing what it would pack."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from msgspec import structs

from recollect import Memory, Store
from recollect.errors import InvalidInput, NotFound
from recollect.interfaces.web import draft as drafts
from recollect.memory.contexts.contexts import tried
from recollect.memory.handle.handle import handle_of
from recollect.model.presets import BUILT_IN, Preset, Template, Weights
from tests.web.visiting import Page, Visitor, hidden_fields, served

QUESTION = "Where does Alice sit?"
MINE = Preset(
    name="mine",
    weights=Weights(
        similarity=0.335, confidence=0.165, recency=0.25, centrality=0.25, reinforcement=0
    ),
    where="kind = 'fact'",
    unit="record",
    guarantees=("travel*", "health"),
    tokens=300,
    template=Template(intro="Known:\nall of it.", record="* {text}"),
    cache=90,
    floor=0.015,
)


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(":memory:", embedder="none") as store:
        memory = store.space("demo")
        memory.remember("Alice sits in 12A.", key="alice.seat", kind="fact")
        memory.remember("Alice flies on Monday.", key="trip", kind="event")
        yield store


def sent(draft: drafts.Draft) -> dict[str, str]:
    """The fields of a draft, as a browser sends them."""
    fields = {name: value for name, value in structs.asdict(draft).items() if name != "weights"}
    return {**fields, **dict(draft.weights)}


def save(visitor: Visitor, base: str, draft: drafts.Draft, **more: str) -> Page:
    page = visitor.get(f"/demo/presets/{base}/edit")
    fields = hidden_fields(page, "/save") | sent(draft) | more
    return visitor.post(f"/demo/presets/{base}/save", fields)


@pytest.mark.parametrize("preset", [*BUILT_IN.values(), MINE], ids=lambda preset: preset.name)
def test_the_fields_of_a_preset_give_it_back(preset: Preset) -> None:
    assert drafts.preset_of(drafts.of(preset)) == preset


@pytest.mark.parametrize(
    "wrong",
    [{"tokens": "many"}, {"floor": "2"}, {"floor": "-1"}, {"unit": "all"}, {"cache": "sometimes"},
     {"cache": "seconds", "seconds": ""}, {"where": "kind ="}, {"record": "no place"},
     {"name": ""}, {"weights": tuple((name, "0") for name, _ in drafts.of(MINE).weights)},
     {"weights": tuple((name, "1e5") for name, _ in drafts.of(MINE).weights)}],
    ids=str,
)  # fmt: skip
def test_a_wrong_field_is_told(wrong: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        drafts.preset_of(structs.replace(drafts.of(MINE), **wrong))


def test_a_preset_is_tried_saved_changed_and_taken_back(visitor: Visitor, memory: Memory) -> None:
    draft = structs.replace(drafts.of(MINE), guarantees="")
    position = memory.events.position
    query = urlencode({**sent(draft), "q": QUESTION})
    tried_page = visitor.get(f"/demo/presets/task/edit?{query}")
    assert "* Alice sits in 12A." in tried_page.words
    assert "Monday" not in tried_page.words  # the filter of the draft
    assert memory.events.position == position
    saved = visitor.follow(save(visitor, "task", draft))
    assert "Saved." in saved.words
    assert memory.settings.presets.get("mine") == drafts.preset_of(draft)
    done = save(visitor, "mine", structs.replace(draft, tokens="77"))
    shown = visitor.follow(done)
    assert memory.settings.presets.get("mine").tokens == 77
    undo = hidden_fields(shown, "/undo")
    assert visitor.post("/demo/presets/mine/undo", undo).status == 303
    assert memory.settings.presets.get("mine").tokens == 300
    page = visitor.get("/demo/presets/mine")
    gone = visitor.follow(visitor.post("/demo/presets/mine/drop", hidden_fields(page, "/drop")))
    with pytest.raises(NotFound):
        memory.settings.presets.get("mine")
    visitor.post("/demo/presets/mine/undo", hidden_fields(gone, "/undo"))
    assert memory.settings.presets.get("mine").tokens == 300


def test_a_draft_packs_what_the_saved_preset_does(memory: Memory) -> None:
    memory.settings.presets.set(MINE)
    here = tried(handle_of(memory), QUESTION, MINE)
    assert here == memory.context(QUESTION, preset="mine", receipt=False)


def test_a_form_sent_twice_sets_a_preset_once(visitor: Visitor, memory: Memory) -> None:
    page = visitor.get("/demo/presets/task/edit")
    fields = hidden_fields(page, "/save") | sent(drafts.of(MINE))
    for _ in range(2):
        assert visitor.post("/demo/presets/task/save", fields).status == 303
    assert len(memory.events.list(kinds=["frame.set"])) == 1


def test_a_preset_that_changed_since_is_not_overwritten(visitor: Visitor, memory: Memory) -> None:
    memory.settings.presets.set(MINE)
    page = visitor.get("/demo/presets/mine/edit")
    memory.settings.presets.set(structs.replace(MINE, tokens=500))
    mine = structs.replace(drafts.of(MINE), tokens="77")
    refused = visitor.post("/demo/presets/mine/save", hidden_fields(page, "/save") | sent(mine))
    assert refused.status == 409
    assert "changed since you looked" in refused.words
    assert 'value="77"' in refused.text
    assert memory.settings.presets.get("mine").tokens == 500
    again = hidden_fields(refused, "/save") | sent(mine)
    assert visitor.post("/demo/presets/mine/save", again).status == 303
    assert memory.settings.presets.get("mine").tokens == 77


def test_a_new_preset_takes_no_name_that_is_in_use(visitor: Visitor, memory: Memory) -> None:
    memory.settings.presets.set(MINE)
    other = structs.replace(drafts.of(MINE), tokens="77")
    for name, words in (("mine", "exists already"), ("task", "is built in"), ("", "empty")):
        refused = save(visitor, "self", structs.replace(other, name=name))
        assert refused.status == 422, name
        assert words in refused.words, (name, refused.words)
    assert memory.settings.presets.get("mine").tokens == 300


def test_no_preset_is_changed_where_nothing_may_be(store: Store) -> None:
    with served(store, read_only=True) as inspector:
        visitor = inspector.enter()
        assert save(visitor, "task", drafts.of(MINE)).status == 403
