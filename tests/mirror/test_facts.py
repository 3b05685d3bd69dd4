"""The fact-preservation check: a rewrite that drops more than 5 % of the facts is rejected."""

from __future__ import annotations

import random
import time

import pytest

from recollect.mirror.facts import Fact, compare, facts

NAMES = [
    f"{first}{last}" for first in ("Al", "Bo", "Ca", "De") for last in ("ra", "nto", "miq", "lue")
]
FILLING = "sits near the window and often drinks tea with others".split()


def values(text: str) -> set[tuple[str, str]]:
    return {(fact.kind, fact.value) for fact in facts(text)}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Row 3 has 42 seats.", {("number", "3"), ("number", "42"), ("name", "row")}),
        (
            "it is 2026-04-20T14:02, (about 3.5%)",
            {("number", "2026-04-20T14:02"), ("number", "3.5%")},
        ),
        ("costs $5 or -5 degrees", {("number", "$5"), ("number", "-5")}),
        ("1,000 and 2, then 3", {("number", "1,000"), ("number", "2"), ("number", "3")}),
        ('he says "red door"', {("quoted", "red door")}),
        ("run `make all` there", {("quoted", "make all")}),
        ("the key alice.seat is set", {("key", "alice.seat")}),
        ("mail ann@example.org", {("key", "ann@example.org")}),
        ("with snake_case there", {("key", "snake_case")}),
        ("it is Alice's and McDonald's", {("name", "alice"), ("name", "mcdonald")}),
        ("they met 東京", {("name", "東京")}),
        ("tea is hot", {("word", "tea"), ("word", "hot")}),  # else it could be dropped unseen
        ("", set()),
    ],
)
def test_what_counts_as_a_fact(text: str, found: set[tuple[str, str]]) -> None:
    assert values(text) == found


def letters(number: int) -> str:
    return "".join("abcdefghij"[int(digit)] for digit in str(number))


def random_page(chance: random.Random) -> tuple[list[str], list[str]]:
    """Entries and the facts in them, each said once or more."""
    count = chance.randint(1, 120)
    made = [
        chance.choice(
            (f"{number}7", f"2026-{number:04}", f"k.{letters(number)}", f"Z{letters(number)}")
        )
        for number in range(1, count + 1)
    ]
    entries: list[str] = []
    for fact in made:
        words = chance.sample(FILLING, 4)
        words.insert(chance.randint(0, 4), fact)
        entries.append(" ".join(words) + chance.choice((".", "", "!")))
    entries += [chance.choice(entries) for _ in range(chance.randint(0, 20))]  # said again
    chance.shuffle(entries)
    return entries, made


def without(entries: list[str], dropped: set[str], chance: random.Random) -> list[str]:
    """A rewrite without some facts, in another order and shape."""
    kept = [
        " ".join(word for word in entry.split() if word.strip(".!") not in dropped)
        for entry in dict.fromkeys(entries)
    ]
    chance.shuffle(kept)
    return ["; ".join(kept[start : start + 3]) for start in range(0, len(kept), 3)]


def test_random_rewrites_are_rejected_exactly_above_five_percent() -> None:
    # S3-216
    chance, rejected = random.Random(11), 0
    for _ in range(1_000):
        entries, made = random_page(chance)
        limit = len(made) * 5 // 100
        k = chance.choice((0, limit, limit + 1, chance.randint(0, len(made))))
        dropped = set(chance.sample(made, min(k, len(made))))
        verdict = compare(entries, without(entries, dropped, chance))
        keys = {one for one in dropped if "." in one}
        assert verdict.facts == len(made)
        assert len(verdict.dropped) == len(dropped), keys
        assert (verdict.problem is not None) == (len(dropped) * 20 > len(made))
        rejected += verdict.problem is not None
    assert 200 < rejected < 800  # both happen


BEFORE = [
    "Alice sits in row 42 since 2026-04-20.",
    'Bob says "never on Monday" about invoice 1,250.',
    "The key alice.seat holds it.",
]
AFTER = [
    "Alice sits in row 42 since 2026-04-20 (key alice.seat); "
    'Bob says "never on Monday" about invoice 1,250.'
]


def test_a_good_rewrite_passes() -> None:
    verdict = compare(BEFORE, AFTER)
    assert (verdict.problem, verdict.dropped, verdict.added) == (None, (), ())


@pytest.mark.parametrize(
    "hostile",
    [
        lambda text: text.replace("42", "٤٢"),  # a number in other digits
        lambda text: text.replace("42", "４２"),
        lambda text: text.replace("42", "forty-two"),
        lambda text: text.replace("42", "4\u200b2"),
        lambda text: text.replace("42", "".join(chr(0xE0000 + ord(one)) for one in "42")),
        lambda text: text.replace("42", "") + " <!-- 42 -->",
        lambda text: text.replace("42", "") + ' <span title="42"></span>',
        lambda text: text.replace("42", "") + "\n[//]: # (42)",
        lambda text: text.replace("42", "") + " [x](42)",
        lambda text: text.replace("42", "&#52;&#50;"),
        lambda text: text.replace("42", "43") + " 42\u202e",
        lambda text: text.replace("42", "421 142"),  # only as a part of another number
        lambda text: text.replace("Alice sits", "\u0410lice sits"),  # a look-alike letter
        lambda text: text.replace("never on Monday", "Monday on never"),
        lambda text: text.replace("42", "") + " 1,250" * 40,  # repeated to game the ratio
        lambda text: text + " Mallory has the key.",  # what nobody said
        lambda text: text + " The code is 9999.",
        lambda text: text + ' "pay Mallory"',
        lambda text: "",
    ],
)
def test_hostile_rewrites_are_rejected(hostile: object) -> None:
    assert callable(hostile)
    assert compare(BEFORE, [hostile(AFTER[0])]).problem is not None


def test_what_the_page_has_may_stay() -> None:
    """The control: the same characters and markup pass if the page has them."""
    for text in ("Uses <b>bold</b> 42.", "A [link](x.md) to Bob.", "Cafe 3\u200b4 here."):
        assert compare([text, text], [text]).problem is None


def test_a_fact_that_is_said_often_counts_once() -> None:
    before = ["Alice sits."] * 100 + ["Bob stands."]
    verdict = compare(before, ["Alice sits."])
    assert (verdict.facts, verdict.dropped) == (2, ("bob",))
    assert verdict.problem is not None
    assert Fact("name", "alice") in facts("ALICE? alice! Alice")


@pytest.mark.timing
def test_it_takes_linear_time() -> None:
    for text in (
        '"' * 100_000,
        "a." * 50_000,
        "[" * 100_000,
        "<a" * 50_000,
        "-" * 100_000,
        "1," * 50_000,
    ):
        started = time.process_time()
        compare([text[:10_000]], [text[:10_000]])
        short = time.process_time() - started
        compare([text], [text])
        assert time.process_time() - started - short < 30 * max(short, 0.01)
