"""Packing: the budget, the guarantees, the marks, and what is said once."""

from __future__ import annotations

import random
import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import LimitExceeded
from recollect.model.presets import Template
from recollect.model.values import Hit, Omitted
from recollect.recall.pack import (
    CLOSING,
    OPENING,
    Counter,
    Packed,
    _Packing,
    count_tokens,
    counter_name,
    hits_for,
    line_of,
    pack,
    text_of,
)
from tests.recall.making import episode, record

PLAIN = Template()
WORDS = "river stone </recollect> < Recollect> {text} {{id}} \n ünïcödé 12345 “x”".split(" ")
TEMPLATES = (
    PLAIN,
    Template(intro="Known:", record="* {text}", episode="* {role}: {text} ({id})"),
    Template(record="{{{kind}}} <{text}> {tags} {confidence} {key}{about}"),
)


def test_a_context_looks_at_more_hits_if_it_has_more_room() -> None:
    assert [hits_for(budget) for budget in (1, 200, 1_500, 2_000, 10_000)] == [64, 64, 93, 125, 200]


def by_characters(text: str) -> int:
    """A counter that knows nothing of ours."""
    return len(text)


def dearer_together(text: str) -> int:
    """A counter whose parts cost less than the whole."""
    return len(text) + text.count("\n") ** 2


COUNTERS: tuple[Counter, ...] = (count_tokens, by_characters, dearer_together)


def random_hits(rng: random.Random) -> list[Hit]:
    hits: list[Hit] = []
    for n in range(rng.randint(0, 9)):
        text = " ".join(rng.choices(WORDS, k=rng.randint(1, 9))) + " x"
        if rng.random() < 0.6:
            evidence = tuple(f"e{k}" for k in range(n) if rng.random() < 0.2)
            hits.append(record(f"r{n}", text, evidence=evidence, tags=("a", "b")))
        else:
            hits.append(episode(f"e{n}", text))
    return hits


def check(rng: random.Random) -> Packed | None:
    """One random preset: what is guaranteed is in, the budget holds, or it says what it needs."""
    hits = random_hits(rng)
    always = [hit for hit in hits if hit.record and rng.random() < 0.3]
    rest = [hit for hit in hits if hit not in always]
    against = {
        hit.id: [other.id for other in hits if other.id != hit.id and rng.random() < 0.1]
        for hit in hits
    }
    template, counter = rng.choice(TEMPLATES), rng.choice(COUNTERS)
    budget = rng.choice([1, 10, 40, 120, 400, 3_000])
    try:
        packed = pack(always, rest, template, budget, counter, against)
    except LimitExceeded as error:
        alone = text_of([line_of(hit, template, against[hit.id]) for hit in always], template)
        assert always
        assert counter(alone) > budget
        said = error.message
        assert str(counter(alone)) in said
        return None
    assert counter(packed.text) <= budget
    assert packed.tokens == (counter(packed.text) if packed.text else 0)
    ids = [hit.id for hit in packed.hits]
    assert ids[: len(always)] == [hit.id for hit in always]
    assert sorted([*ids, *(left.id for left in packed.omitted)]) == sorted(hit.id for hit in hits)
    if packed.text:
        assert packed.text.startswith(OPENING + "\n")
        assert packed.text.endswith("\n" + CLOSING)
        assert packed.text.lower().count("<recollect>") == 1
        assert packed.text.lower().count("</recollect>") == 1
        intro = 0 if template.intro not in packed.text else len(template.intro.splitlines())
        assert len(packed.text.splitlines()) == len(ids) + 2 + intro
    else:
        assert not ids
    return packed


def test_a_line_is_left_out_early_only_if_it_would_not_fit() -> None:
    """The same counter under another name has every line made and counted."""
    rng = random.Random(18)
    odd = ["\u200b" * 40, "\x01" * 40, "caf\u00e9 " * 9, "<recollect>" * 3, "12345 " * 9]
    seen: set[int] = set()
    for _ in range(3_000):
        hits = [*random_hits(rng), *(episode(f"o{n}", text) for n, text in enumerate(odd))]
        rng.shuffle(hits)
        template, budget = rng.choice(TEMPLATES), rng.choice([20, 40, 60, 90, 150, 400])
        packed = pack([], hits, template, budget, count_tokens)
        other = pack([], hits, template, budget, partial(count_tokens))
        assert packed == other or not other.hits  # then lines without an intro are tried
        seen.add(len(packed.hits))
    assert len(seen) > 5


def test_over_random_presets_guarantees_are_in_and_no_budget_is_exceeded() -> None:
    rng = random.Random(17)
    results = [check(rng) for _ in range(10_000)]
    kept = [packed for packed in results if packed is not None]
    assert len(kept) > 5_000
    assert len(kept) < 10_000  # some guarantees did not fit, and said so
    assert {left.reason for packed in kept for left in packed.omitted} == {
        "budget",
        "repeat",
        "source",
        "contradiction",
    }


def test_rather_one_line_than_none() -> None:
    long, short = record("r1", "one two three " * 20), record("r2", "Alice sits in 12A.")
    said = episode("e1", "I sit in 12A.")
    packed = pack([], [long, short, said], PLAIN, 20)
    assert packed.text == "<recollect>\n- Alice sits in 12A.\n</recollect>"
    assert packed.tokens <= 20
    assert [(left.id, left.reason) for left in packed.omitted] == [
        ("r1", "budget"),
        ("e1", "budget"),
    ]
    assert pack([], [said], PLAIN, 24).text.splitlines()[1] == '- user said: "I sit in 12A."'
    assert pack([], [short], PLAIN, 8).text == ""
    assert pack([], [short], PLAIN, 20, partial(count_tokens)).text == ""  # cannot be replayed
    assert pack([short], [said], PLAIN, 60).text.startswith(f"<recollect>\n{PLAIN.intro}")


def test_a_guarantee_that_does_not_fit_says_what_it_needs() -> None:
    hits = [record("r1", "one " * 50)]
    with pytest.raises(LimitExceeded) as refusal:
        pack(hits, [], PLAIN, 20)
    needed = count_tokens(text_of([line_of(hits[0], PLAIN)], PLAIN))
    assert f"need {needed} tokens" in refusal.value.message
    assert pack(hits, [], PLAIN, needed).tokens == needed
    with pytest.raises(LimitExceeded):
        pack(hits, [], PLAIN, needed - 1)


def test_the_same_words_are_packed_once() -> None:
    packed = pack([], [record("r1", "Tea, please!"), episode("e1", "tea please")], PLAIN, 100)
    assert packed.omitted == (
        Omitted(id="e1", reason="repeat", detail="says the same as r1", by=("r1",)),
    )


def test_a_number_that_differs_is_not_the_same() -> None:
    hits = [record("r1", "the port is 5432"), record("r2", "the port is 5433")]
    assert len(pack([], hits, PLAIN, 100).hits) == 2


def test_evidence_goes_into_the_record_that_rests_on_it() -> None:
    hits = [record("r1", "Alice drinks tea", evidence=("e1",)), episode("e1", "I drink tea")]
    packed = pack([], hits, PLAIN, 100)
    assert [(left.reason, left.detail) for left in packed.omitted] == [
        ("source", "is evidence for r1")
    ]


def test_of_two_that_contradict_each_other_one_is_packed_and_says_so() -> None:
    hits = [record("r1", "It is open"), record("r2", "It is closed")]
    packed = pack([], hits, PLAIN, 100, against={"r1": ["r2"], "r2": ["r1"]})
    assert packed.text.splitlines()[2].endswith("It is open [r1] (contradicted by [r2])")
    assert packed.omitted[0].reason == "contradiction"
    assert packed.omitted[0].detail == "contradicts r1, which is packed and lists it"
    both = pack(hits, [], PLAIN, 100, against={"r1": ["r2"], "r2": ["r1"]})
    assert len(both.hits) == 2  # what is guaranteed is in, with the contradiction named
    assert both.text.count("contradicted by") == 2


@pytest.mark.parametrize(
    "text",
    ["</recollect>", "< / RECOLLECT >", "<\u200b/recollect>", "<\n/recollect>", "<_recollect>"],
)
def test_content_cannot_imitate_the_marks(text: str) -> None:
    for template in (PLAIN, Template(record="<{text}>"), Template(record="</{text}")):
        line = line_of(record("r1", f"x {text} recollect>"), template)
        assert "<" not in line.replace("<x", "").replace("</x", "")
    assert "</" not in line_of(record("r1", "recollect> and more"), Template(record="</{text}"))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("words", 1),
        ("longer", 2),
        ("1234567", 3),
        ("a, b.", 4),
        ("é 日本", 6),
        (" \u00a0", 0),
    ],
)
def test_the_estimate_counts_letters_digits_and_signs(text: str, count: int) -> None:
    assert count_tokens(text) == count


@given(st.text(st.one_of(st.characters(), st.sampled_from("ab1.?\x1c\x85\u2003\u3000\xbd"))))
def test_the_estimate_is_that_of_one_pattern(text: str) -> None:
    wide = re.findall(r"[^\s\x00-\x7f]", text)
    found = re.findall(r"[A-Za-z]{1,5}|[0-9]{1,3}|[^\sA-Za-z0-9]", text)
    assert count_tokens(text) == len(found) + len(wide)


def test_a_counter_has_a_name() -> None:
    assert counter_name(count_tokens) == "estimate"
    assert counter_name(by_characters).endswith("test_pack.by_characters")
    assert counter_name(Encoder()).endswith("test_pack.Encoder")


class Encoder:
    """A counter that is an object."""

    def __call__(self, text: str) -> int:
        return len(text)


# --- controls


def test_control_a_budget_that_is_not_checked_as_a_whole_would_be_exceeded() -> None:
    """The sum of the parts fits, the whole does not: only counting the text itself sees that."""
    hits = [record(f"r{n}", f"short {n}") for n in range(9)]
    lines = [line_of(hit, PLAIN) for hit in hits]
    parts = dearer_together(text_of([], PLAIN)) + sum(
        dearer_together(line + "\n") for line in lines
    )
    assert dearer_together(text_of(lines, PLAIN)) > parts
    packed = pack([], hits, PLAIN, parts, dearer_together)
    assert len(packed.hits) < 9
    assert dearer_together(packed.text) <= parts


UNSEEN = [
    *"a1\u200b\u200d\u200c\u061c\ufe0f\x1c\x0b\n \u2028\u202e\ufeff\u0915\u4e2d\xbd<",
    "\U0001f468\u200d",
]


@given(st.lists(st.sampled_from(UNSEEN), max_size=30).map("".join))
def test_a_line_costs_at_least_what_was_estimated(text: str) -> None:
    packing = _Packing(PLAIN, count_tokens, {})
    hit = record("r1", text or "a")
    assert packing._least(hit, 1_000) <= count_tokens(line_of(hit, PLAIN))
