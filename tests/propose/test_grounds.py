"""A learned sentence says no number, date or name that its quotes and the records do not."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from recollect.model import limits
from recollect.propose.grounds import Grounds, Said, Verdict, unsupported

MONDAY = "2023-05-08T13:56:00Z"  # 8 May 2023


def missing(sentence: str, quote: str, said_at: str | None = MONDAY) -> tuple[str, ...]:
    """What a sentence says that one quote does not."""
    return unsupported(sentence, Grounds([Said("e1", quote, said_at)])).missing


# --- numbers

SAME_NUMBER = [
    ("Bob has 250 cats.", "Bob has two hundred and fifty cats"),
    ("Bob has three dogs.", "Bob, 3 dogs"),
    ("Bob has 25 dogs.", "Bob has twenty-five dogs"),
    ("Bob pays $1,200.", "Bob pays 1200 dollars"),
    ("Bob pays 1200.", "Bob zahlt 1.200.000, dann 1,200"),
    ("Bob earns 2,000,000.", "Bob earns 2 million"),
    ("Bob earns 1500000.", "Bob earns 1.5 million"),
    ("Bob earns 5,000.", "Bob earns 5k"),
    ("Bob earns 1000 euros.", "Bob gagne 1\u202f000 euros"),
    ("Bob came 4th.", "Bob came fourth"),
    ("Bob came third.", "Bob came 3rd"),
    ("Bob ran 3.5 km.", "Bob lief 3,5km"),
    ("Bob ran 5 km.", "Bob ran 5km"),
    ("It is -5 in Oslo.", "it's minus 5 in oslo"),
    ("Bob wakes at 3 pm.", "Bob wakes at 15:00"),
    ("Bob wakes at 15:30.", "Bob wakes at 3:30pm"),
    ("Bob wakes at 3 pm.", "Bob wakes at 3"),
    ("Bob has 12 keys.", "Bob has a dozen keys"),
    ("Bob trains twice a week.", "Bob trains 2 times a week"),
    ("Bob is 25.", "Bob ist f\u00fcnfundzwanzig"),
    ("Bob is 34.", "Bob tiene treinta y cuatro"),
    ("Bob is 16.", "Bob a seize ans"),
    ("Bob's PIN is 0042.", "Bob, the PIN: 0042"),
    ("Bob runs version 1.2.3.", "Bob's on 1.2.3"),
    ("Bob is \u0661\u0662.", "Bob is 12"),
    ("Bob is \uff11\uff12.", "Bob is 12"),
]
OTHER_NUMBER = [
    ("Bob has 25 cats.", "Bob has 250 cats"),
    ("Bob has five cats.", "Bob has 4 cats and 50 dogs"),
    ("Bob has 20 cats.", "Bob has twenty-five cats"),
    ("Bob pays 1,200.", "Bob pays 1200000 or 12 or 200"),
    ("Bob pays 1.200.", "Bob pays 1200"),  # it may be 1.2
    ("Bob wakes at 3 pm.", "Bob wakes at 3 am"),
    ("Bob wakes at 3:30.", "Bob wakes at 3:45"),
    ("It is 5 in Oslo.", "It is -5 in Oslo"),
    ("Bob's PIN is 0042.", "Bob's PIN is 42"),
    ("Bob lives at 12A.", "Bob lives at 12B, not 12"),
    ("Bob runs version 1.2.3.", "Bob runs 1.2.4 and 2.3"),
    ("Bob has 10\u00b2 cats.", "Bob has 102 cats"),
    ("Bob has \u2461 cats.", "Bob has 3 cats"),
    ("Bob has \U0001f51f cats.", "Bob has 12 cats"),
    ("Bob has 1\ufe0f\u20e32\ufe0f\u20e3 cats.", "Bob has 1 or 2 cats"),
    ("Bob has tw\u0435lve cats.", "Bob has 13 cats"),
    ("Bob has \u5341\u4e8c cats.", "Bob has 12 cats"),
    ("Bob is l2.", "Bob is 12"),
    ("Bob is 1\u200a2.", "Bob is 1 or 2"),  # a reader sees 12
    ("Bob is born in 2021.", "Bob was born in 1990"),
]


@pytest.mark.parametrize(("sentence", "quote"), SAME_NUMBER)
def test_a_number_may_be_written_in_another_way(sentence: str, quote: str) -> None:
    assert missing(sentence, quote) == ()


@pytest.mark.parametrize(("sentence", "quote"), OTHER_NUMBER)
def test_another_number_is_missing(sentence: str, quote: str) -> None:
    assert len(missing(sentence, quote)) == 1


# --- dates

SAME_DAY = [
    ("Bob went on 7 May 2023.", "I went yesterday"),
    ("Bob went on 2023-05-07.", "I went yesterday"),
    ("Bob went on May 7th, 2023.", "I went last night"),
    ("Bob went on 6 May 2023.", "I went the day before yesterday"),
    ("Bob goes on 9 May 2023.", "I go tomorrow"),
    ("Bob went on 5 May 2023.", "I went last Friday"),
    ("Bob went on Friday, 5 May 2023.", "I went on Friday"),
    ("Bob goes on 12 May 2023.", "I go on Friday"),
    ("Bob went last Friday.", "I went on 5 May"),
    ("Bob goes in June 2023.", "I go next month"),
    ("Bob went in April.", "I went last month"),
    ("Bob went in 2022.", "I went last year"),
    ("Bob went in 2022.", "I went last summer"),
    ("Bob went on 24 April 2023.", "I went two weeks ago"),
    ("Bob went two weeks ago.", "I went on 24 April"),
    ("Bob went in May.", "I went yesterday"),
    ("Bob went in 2023.", "I went yesterday"),
    ("Bob went in April 2023.", "I went a few weeks ago"),
    ("Bob moved in 2021.", "In 2021 I moved"),
    ("Bob moved in 2021.", "I moved in March 2021"),
    ("Bob married in 2018.", "We are married for 5 years"),
    ("Bob went the week before 9 May 2023.", "I went on Monday"),
    ("As of 8 May 2023, Bob lives alone.", "I live alone"),
    ("Bob pays on 15 May 2023.", "I pay on the 15th"),
    ("Bob was born on 5 August 1990.", "I was born 05.08.1990"),
    ("Bob went on 7 May 2023.", "Gestern war ich da"),
    ("Bob went on 7 May 2023.", "J'y suis all\u00e9 hier"),
    ("Bob went on 7 May 2023.", "Fui ayer"),
    ("Bob went on 5 May 2023.", "Ich war letzten Freitag da"),
    ("Bob went in April 2023.", "J'y suis all\u00e9 le mois dernier"),
    ("Bob went in the week of 1 May 2023.", "Fui la semana pasada"),
    ("Bob was born on 3 March 1990.", "N\u00e9 le 3 mars 1990"),
    ("Bob was born on 3 March 1990.", "Naci\u00f3 el 3 de marzo de 1990"),
    ("April is kind.", "My friend April is kind"),
    ("Bob may come.", "He comes"),
]
OTHER_DAY = [
    ("Bob went on 8 May 2023.", "I went yesterday"),
    ("Bob went on 7 May 2022.", "I went yesterday"),
    ("Bob went in June.", "I went yesterday"),
    ("Bob went in 2022.", "I went yesterday"),
    ("Bob went on 3 May 2023.", "I went last week"),  # more exact than what was said
    ("Bob went last year.", "I went last week"),
    ("Bob goes next month.", "I went last month"),
    ("Bob went on 8 May 2023.", "I went"),
    ("Bob went on Tuesday.", "I went on Friday"),
    ("Bob went three weeks ago.", "I went two days ago"),
    ("Bob went five years ago.", "I went a few years ago"),
    ("Bob went yesterday.", "I went last Friday"),
    ("Bob was born on 31 February 1990.", "I was born on 28 February 1990"),
    ("The week before 9 June 2023 Bob went.", "I went last week"),
    ("Bob was born in May 1990.", "I may be born in 1990"),
    ("Bob went in 2021.", "I went last year"),
]


@pytest.mark.parametrize(("sentence", "quote"), SAME_DAY)
def test_a_day_is_seen_from_the_day_on_which_it_was_said(sentence: str, quote: str) -> None:
    assert missing(sentence, f"Bob: {quote}") == ()


@pytest.mark.parametrize(("sentence", "quote"), OTHER_DAY)
def test_another_day_is_missing(sentence: str, quote: str) -> None:
    assert len(missing(sentence, f"Bob: {quote}")) == 1


def test_a_day_depends_on_where_it_was_said() -> None:
    quote = Said("e1", "Bob went yesterday", "2023-05-08T23:30:00Z")
    sentence = "Bob went on 8 May 2023."
    assert unsupported(sentence, Grounds([quote])).missing == ("8 May 2023",)
    assert unsupported(sentence, Grounds([quote], tz_minutes=120)).missing == ()


def test_the_last_day_of_the_calendar_has_no_day_after_it() -> None:
    grounds = Grounds([Said("e1", "Bob went yesterday", "9999-12-31T23:30:00Z")], tz_minutes=120)
    assert unsupported("Bob went on 7 May 2023.", grounds).missing == ("7 May 2023",)
    assert missing("Bob goes on 7 May 2023.", "Bob goes tomorrow", "9999-12-31T12:00:00Z")


def test_without_the_day_only_the_words_themselves_support() -> None:
    assert missing("Bob went yesterday.", "Bob went yesterday", None) == ()
    assert missing("Bob went on 7 May 2023.", "Bob went yesterday", None) == ("7 May 2023",)
    assert missing("Bob went in May 2023.", "Bob went on 7 May 2023", None) == ()


# --- names

SAME_NAME = [
    ("Caroline's dog is Max.", "Caroline has a dog, max"),
    ("James' dog is old.", "James has a dog"),
    ("Bob met the Smiths.", "bob met Mrs Smith"),
    ("J. Smith is old.", "John Smith is old"),
    ("J.K. Rowling wrote it.", "JK Rowling wrote it"),
    ("Bob lives in NYC.", "Bob lives in New York City"),
    ("Bob uses YouTube.", "bob uses You Tube"),
    ("Bob uses Door Dash.", "Bob uses DoorDash"),
    ("Zoe is here.", "Zo\u00eb is here"),
    ("O\u2019Brien is here.", "O'Brien is here"),
    ("The user likes tea.", "I like tea"),
    ("\u0410\u043d\u043d\u0430 \u0437\u0434\u0435\u0441\u044c.", "\u0410\u043d\u043d\u0430"),
    ("\u5f20\u4e09\u4f4f\u5728\u5317\u4eac", "\u5f20\u4e09\u4f4f\u5728\u5317\u4eac\u3002"),
    ("Bob's mail is bob@example.com.", "bob: BOB@example.com"),
]
OTHER_NAME = [
    ("Alice is here.", "Bob is here"),
    ("Bob lives in Rome.", "Bob lives in Paris"),
    ("Bob likes Anna.", "Bob likes Ann"),
    ("Will is here.", "he will be here"),
    ("Bob works for IT.", "it is Bob"),
    ("IT's work is Bob's.", "its work is Bob's"),
    ("Bob lives in the US.", "Bob lives with us"),
    ("Bob's mail is bob@example.com.", "bob@example.org is Bob's"),
    ("Bob's mail is bob@example.co.", "Bob's mail is bob@example.com"),
    ("Bob's mail is bob@example.co.", "Bob's mail is bob@example.co.uk"),
    ("Bob's mail is ob@example.com.", "Bob's mail is bob@example.com"),
    ("Bob drives an F15.", "Bob drives an F150"),
    ("Bob reads example.com.", "Bob reads example.org, not .com"),
    ("\u674e\u56db", "\u5f20\u4e09\u4f4f\u5728\u5317\u4eac\u3002"),
    ("\u0930\u093e\u092e", "\u0930\u094b\u092e"),  # two Hindi words that differ in a vowel sign
]
IMITATIONS = [
    "\u0410lice",  # a Cyrillic A
    "Al\u0456ce",
    "\u0391lice",  # a Greek one
    "Al1ce",
    "\u24b7ob",  # a circled B
    "\U0001f171ob",
    "B\u20ddob",
    "\U0001f1e7\U0001f1f4\U0001f1e7",
    "\uff22\uff4f\uff42",
    "\U0001d401\U0001d428\U0001d41b",  # mathematical bold
]


@pytest.mark.parametrize(("sentence", "quote"), SAME_NAME)
def test_a_name_may_be_written_in_another_way(sentence: str, quote: str) -> None:
    assert missing(sentence, quote) == ()


@pytest.mark.parametrize(("sentence", "quote"), OTHER_NAME)
def test_another_name_is_missing(sentence: str, quote: str) -> None:
    assert len(missing(sentence, quote)) == 1


@pytest.mark.parametrize("name", IMITATIONS)
def test_a_name_in_other_signs_is_a_name(name: str) -> None:
    assert missing(f"{name} is here.", "Alice is here with Belinda")
    assert missing(f"{name} is here.", f"{name} is here") == ()


def test_a_name_may_come_from_a_message_around_the_quote_which_joins() -> None:
    around = [
        Said("e2", "What about Rome?", MONDAY, "Ann"),
        Said("e3", "Max likes Rome and Oslo", MONDAY, "Bob"),
    ]
    grounds = Grounds([Said("e1", "I love it, since 2019", MONDAY, "Carol")], around)
    assert unsupported("Carol loves it.", grounds) == Verdict()
    assert unsupported("Carol loves Rome.", grounds) == Verdict((), ("e2",))
    assert unsupported("Ann heard that Carol loves Oslo.", grounds) == Verdict((), ("e2", "e3"))
    assert unsupported("Carol loves Paris and Oslo.", grounds) == Verdict(("Paris",), ("e3",))


def test_a_message_around_the_quote_gives_no_number_and_no_date() -> None:
    around = [Said("e2", "Is it 7 on 7 May 2023?", MONDAY)]
    grounds = Grounds([Said("e1", "Yes, Bob", MONDAY)], around)
    assert unsupported("Bob says 7.", grounds).missing == ("7",)
    assert unsupported("Bob comes on 7 May 2023.", grounds).missing == ("7 May 2023",)


def test_records_that_were_shown_give_everything() -> None:
    grounds = Grounds([Said("e1", "that is right", MONDAY)], records=["Bob left Rome in May 2021."])
    assert unsupported("Bob left Rome in May 2021.", grounds) == Verdict()
    assert unsupported("Bob left Rome in 2021.", grounds) == Verdict()
    assert unsupported("Bob left Rome in May 2022.", grounds).missing == ("May 2022",)


def test_the_problem_names_what_is_missing_and_shows_what_is_hidden() -> None:
    verdict = unsupported("Bob is 1\u202e2.", Grounds([Said("e1", "Ann is 3")]))
    assert verdict.problem == "it says what its quotes do not: [U+202E], 12, Bob"
    assert unsupported("Ann is 3.", Grounds([Said("e1", "Ann is 3")])).problem is None


# --- what is hostile


@pytest.mark.parametrize("sign", ["\u200b", "\u202e", "\u2066", "\u00ad", "\ufeff", "\u2060"])
def test_a_sign_that_no_reader_sees_changes_no_fact(sign: str) -> None:
    assert "12" in missing(f"Bob is 1{sign}2.", f"Bob is 1 or 2{sign}")
    assert "Alice" in missing(f"Al{sign}ice is here.", f"Al is on ice{sign}")
    assert missing(f"Bob is 1{sign}2.", "Bob is 12") == (sign,)


HOSTILE = [
    "\ufdfa" * 350_000,
    "1," * 500_000,
    "1 " * 500_000,
    "a\u0300" * 300_000,
    "\u0315\u0300" * 250_000,
    "two hundred and " * 60_000,
    "million million " * 60_000,
    "last few " * 110_000,
    "the 1st of May " * 60_000,
    "2023-05-08-" * 90_000,
    "9" * 1_000_000,
    "a@b.c/" * 150_000,
    "J." * 500_000,
    "\U0001f1e7" * 250_000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:12]))
def test_a_long_text_supports_nothing_else_and_ends(text: str) -> None:
    grounds = Grounds([Said("e1", text, MONDAY)], [Said("e2", text)], [text])
    assert unsupported("Zelda is 77.", grounds).missing == ("77", "Zelda")
    assert unsupported(text, grounds).missing == ("more than 4,000 characters",)
    unsupported(text[: limits.SUGGESTION_MAX_CHARS], grounds)


def test_what_stands_after_the_limit_of_a_text_supports_nothing() -> None:
    assert missing("Bob is 7.", f"{'a ' * 40_000} Bob is 7") == ()
    assert missing("Bob is 7.", f"{'a ' * 60_000} Bob is 7") == ("7", "Bob")


def test_a_sentence_has_a_bounded_number_of_facts() -> None:
    sentence = " ".join(f"{number} cats" for number in range(300))
    assert missing(sentence, sentence) == ("more than 200 facts",)


# --- always

WORDS = st.sampled_from(
    [
        *"Bob May Ann O'Brien NYC YouTube 12 3,000 1.5 -4 5k 12A 3pm 15:30 two hundred and".split(),
        *"fifty twenty first second may march Friday last next week months ago in".split(),
        *"yesterday 2021 7 the 15th of June 2023-05-08 31 February I Will US a few years".split(),
        *"a@b.com example.com . , - ( tuesday \u200b \u202e \u00bd 10\u00b2 \u5317\u4eac".split(),
        *(
            "5/8/2023",
            "\u0430lice",
            "\u0410\u043d\u043d\u0430",
            "\u0930\u093e\u092e",
            "1\u202f000",
            "\n",
        ),
    ]
)
SENTENCES = st.lists(WORDS, max_size=30).map(" ".join) | st.text(max_size=100)
DATES = st.none() | st.dates(date(1, 1, 1), date(9999, 12, 31)).map(lambda day: f"{day}T00:00:00Z")


@given(SENTENCES, DATES, SENTENCES, DATES)
@example("on 31 February", MONDAY, "", None)
@example("May 3,000", MONDAY, "", None)
def test_a_sentence_that_is_its_quote_says_nothing_else(
    text: str, said_at: str | None, other: str, other_at: str | None
) -> None:
    quotes = [Said("e1", text, said_at), Said("e2", other, other_at)]
    assert unsupported(text, Grounds(quotes)) == Verdict()


@given(SENTENCES, st.integers(10_000, 10**12), st.from_regex(r"\AQ[a-z]{9}x\Z"), st.booleans())
def test_a_number_or_a_name_that_was_never_said_is_missing(
    text: str, number: int, name: str, around: bool
) -> None:
    assume(str(number) not in text)
    said = [Said("e1", text, MONDAY, "Bob")]
    grounds = Grounds(said, said if around else (), [text])
    assert str(number) in unsupported(f"Bob has {number}.", grounds).missing
    assert name in unsupported(f"Bob met {name}.", grounds).missing


@pytest.mark.parametrize(
    "text", ["May 3,000", "7 May 2,023.5", "12,5 May", "1:30 May", "May 7,2023"]
)
def test_a_number_with_a_month_beside_it_is_read_once(text: str) -> None:
    assert missing(text, text) == ()


@given(st.dates(date(1950, 1, 1), date(2090, 12, 31)), st.integers(1, 300))
def test_yesterday_is_one_day(day: date, away: int) -> None:
    said_at = f"{day}T12:00:00Z"
    before = day - timedelta(days=1)
    assert missing(f"Ann went on {before}.", "Ann went yesterday", said_at) == ()
    other = before + timedelta(days=away)
    assert missing(f"Ann went on {other}.", "Ann went yesterday", said_at)
