"""Which texts only ask or order something, and which say something to keep."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest

from benchmarks import everyday
from recollect.index.words.transient import (
    _CLAUSE_ENDS,
    _SENTENCE_ENDS,
    _sentences,
    is_transient,
    questions_in,
    without_questions,
)
from tests.index.held_out import KEPT, OF_THE_MOMENT
from tests.steps import calls_in, steps_of_search

ASK = (
    "what's the staging port",
    "whats the staging port",
    "what is the staging port",
    "hey, what port was staging again? I need to fix the smoke test",
    "fix the smoke test so it uses the staging port",
    "run the tests",
    "write a function that parses csv",
    "bump version to 2.1",
    "what do you know about this project?",
    "Could you draft a mail to my landlord?",
    "suggest a dinner recipe",
    "Can you write a test for the parser?",
    "who leads payments?",
    "name of the main branch",
    "please run the linter",
    "ok, now commit and push",
    "wer leitet das Team",
    "wo liegt der Ersatzschlüssel?",
    "Thanks! Can you also explain this query?",
    "is celery still used",
    "which state management library in the frontend",
    "when can I deploy to prod",
    "what should I do before I hand the paperwork to the accountant, and until when?",
    "run all tests",
    "Explain why the build is red",
    "do you remember my son's name?",
    "what did I say about the rent",
    "refactor this function please",
    "¿Dónde está la llave?",
    "鍵はどこですか？",
    "go on",
    "Kannst du die Tests starten?",
    "bitte erkläre diese Abfrage",
    "does staging use postgres 17",
    "prod db backup, how many days?",
    "ist Celery noch in Benutzung?",
    "was kostet die Miete",
    "should I use tabs?",
    "can we deploy today",
    "Thanks Caroline! What do you like about it?",
    "use a dataclass here",
    "let's run the tests",
    "check if staging is up",
    "move this into a composable",
    "vat for boooks?",
    "Explain why staging is on 5433",
    "remind me what the staging port is",
    "can u tell me the staging port",
    "I don't remember which port staging uses",
    "now do the same for the footer",
    "I'd like you to add logging",
    "I want you to refactor the parser",
    "we need to bump the version",
    "merge main into this branch",
    "get rid of the unused imports",
    "kannst du mir sagen auf welchem port staging läuft",
    "make the button green",
    "write a haiku about rain",
    "do you always answer in English?",
    "I was wondering which port staging is on",
    "What's the staging port? It's urgent.",
    "hi claude, could you tell me on which port staging runs? thanks a lot!",
    "@agent what port does staging use",
    "STAGING PORT",
    "so... staging port",
    "please, the staging port",
    "need the staging port",
    "I keep forgetting the staging port",
)

SAY = (
    "never deploy on Fridays",
    "Never deploy the shop on Fridays or on the day before a public holiday.",
    "always run the tests before committing",
    "From now on please write commit messages in the imperative, at most 60 "
    "characters in the subject.",
    "please remember that staging is on port 5433",
    "Please remember that staging is on port 5433 and that we deploy from the release branch.",
    "Can you fix the flaky checkout test? By the way, the sandbox card that always "
    "fails is 4000 0000 0000 0341.",
    "fix the smoke test, staging is on 5433 now",
    "prod is going to ireland next month",
    "I live in Porto. Where do you live?",
    "don't use tabs",
    "do not touch the schema",
    "use pnpm, not npm",
    "Answer in British English",
    "Let's keep the old product pages online until the end of the year, then they get a 410.",
    "I'm allergic to nuts, what can I cook?",
    "When I deploy I use make ship",
    "What I like is tea",
    "Did you know that my birthday is 4 May?",
    "We deploy on Fridays, right?",
    "Yes.",
    "Yes, run it on staging; the port is 6000",
    "OK that worked, 75% it is from now on!",
    "I want to learn Spanish",
    "The build is red",
    "that did not work",
    "Buy milk",
    "Call me Sam",
    "Will is my brother",
    "Test data lives in fixtures/",
    "Log level in production is WARNING.",
    "List of suppliers: Holzmann, Ferrari",
    "Release branch is called trunk",
    "Wie besprochen läuft Staging auf 5433",
    "Merk dir bitte, dass der Schlüssel bei Frau Adeyemi liegt.",
    "wir deployen immer dienstags",
    "Remember the spare key lies with Mrs Adeyemi.",
    "Can you remember that I sit in 12A?",
    "can you change the port because staging moved to 6000",
    "whoever deploys must ask Dana",
    "Tag releases with a leading v",
    "I'm back. What did I miss?",
    "Had the dentist today",
    "Was at the dentist",
    "What a day at the beach",
    "Have a great day!",
    "Did the laundry",
    "Jake suggested priority countries for filing, can you help me understand which ones?",
    "Is on port 5433 now",
    "Can opener is in the drawer",
    "Rename of the app is planned for May",
    "Tell Mila's teacher: she is allergic",
    "Send invoices to Lexware",
    "Add a changelog line to every PR",
    "Write tests first",
    "Deploys happen on Tuesday",
    "In the attic.",
    "5433 is the staging port",
    "Sam has the phone number",
    "I need a new password",
    "I forgot my wallet at Ana's",
    "hi Sam, staging is on 6000",
    "It's urgent that we move to 6000",
    "I was wondering about Porto and then we moved there",
    "write in British English",
    "write short commit messages",
    "explain things briefly",
    "make commits small",
    "test everything before you push",
    "can you always answer in German",
    "Can you always answer in German?",
    "could you please stop using emojis",
    "would you mind using metric units?",
    "I'd like you to add type hints to all functions",
    "remind me to buy milk",
    "I forgot how to swim",
    "Kannst du dir merken, dass der Port 6000 ist?",
    "do it with spaces, I hate tabs",
    "Fix versions in constraints.txt",
    "Make sure to answer in German",
    "Document all public functions",
    "Let's change the plan for Rome",
    "I want to see Rome",
    "Hi!",
    "",
    "Search in the shop is done by Meilisearch 1.9, index products_v3.",
    "What is the best way to feed the peas I've planted?",
    "the number of seats is 40",
    "Staging is on 5433, right?",
    "Where is it? "
    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "What is a good way to split the work of this team of this team of this team of "
    "this team of this team of this team of this team of this team ?",
    "note: the port is 5433",
    "How we deploy: make ship",
)

REVIEWED = tuple(
    """Push to the develop branch, not main
Deploy to Fly, not Heroku
Run the tests with pytest -x, not unittest
Tell me before you delete files
Do that only after I approve
Run make lint before committing
Run the linter after each change
Give me short answers
Add type hints to everything
Mock the network in tests
Print money values with two decimals
Create branches named feature/<ticket>
Migrate to Postgres by March
Find my therapist's number: 555-0142
Can you use tabs in this repo?
Could you answer in French please
Would you keep answers short?
Do you know I have a peanut allergy?
Did you see my dog Rex has died?
Is it ok if you call me Max?
Schreib Commit-Messages auf Englisch
Gib mir kurze Antworten
Kannst du auf Deutsch antworten?
Peux-tu r\u00e9pondre en fran\u00e7ais ?
Add docstrings to public functions
Explain it like I'm five
Review my code critically
Can we agree to use British spelling?
Send me a summary at the end of each day
Let's rename the project to Falcon
Wei\u00dft du, dass ich am 3. Mai umziehe?
Teste nur mit echten Daten
Peux-tu me tutoyer ?""".splitlines()
)


@pytest.mark.parametrize("text", ASK)
def test_what_only_asks_or_orders_something_is_of_the_moment(text: str) -> None:
    assert is_transient(text, "user")


@pytest.mark.parametrize("text", SAY)
def test_what_says_something_is_kept(text: str) -> None:
    assert not is_transient(text, "user")


def test_in_doubt_a_text_is_kept() -> None:
    """Of texts written before the rules; the rules before these lost 59 of 116."""
    lost = [text for text in KEPT if is_transient(text, "user")]
    assert lost == ["Would you format amounts with a comma?"]
    nuisances = [text for text in OF_THE_MOMENT if not is_transient(text, "user")]
    assert nuisances == []
    assert len(KEPT) + len(OF_THE_MOMENT) > 120


@pytest.mark.parametrize("text", REVIEWED)
def test_what_a_review_found_lost_is_kept(text: str) -> None:
    for written in (text, text.upper(), text.lower(), f"  {text}!"):
        assert not is_transient(written, "user")


def test_what_tells_by_asking_opens_no_change() -> None:
    """The agent's quote of it is still a quote of a question."""
    for text in ("Is it ok if we use port 6000?", "Can we switch to port 6000?"):
        assert not is_transient(text, "user")
        assert without_questions(text) == ""


def test_an_assistants_imperative_is_advice() -> None:
    assert is_transient("Which tests shall I run?", "assistant")
    assert not is_transient("Run the tests.", "assistant")
    assert not is_transient("Which tests shall I run?", "tool")


@pytest.mark.parametrize("path", [everyday._SECOND, everyday._THIRD])
def test_in_the_everyday_sets_questions_ask_and_memories_do_not(path: Path) -> None:
    given = json.loads(path.read_text("utf-8"))
    asked = [*(each["q"] for each in given["questions"]), *given["unanswerable"]]
    assert [text for text in asked if not is_transient(text, "user")] == []
    told = [each["text"] for each in given["memories"]]
    assert [text for text in told if is_transient(text, "user")] == []
    orders = [text for text in given["coding_prompts"] if is_transient(text, "user")]
    assert len(orders) >= 0.85 * len(given["coding_prompts"])


# Each was quadratic in a pattern, or is made to be.
HOSTILE = (
    " ",
    "\n",
    "!",
    "?",
    '."',
    ".)",
    "hi ",
    "@a ",
    "and ",
    ", ",
    " - ",
    "what ",
    "a",
    "\u00e4 ",
)


@pytest.mark.parametrize("unit", HOSTILE)
def test_splitting_a_text_takes_work_that_grows_with_its_length(unit: str) -> None:
    small, large = (
        steps_of_search(_SENTENCE_ENDS, f"what is the port{unit * size}of staging")
        for size in (200, 400)
    )
    assert large <= 2.2 * small + 50


def test_control_clauses_of_a_text_with_many_blanks_took_four_times() -> None:
    small, large = (steps_of_search(_CLAUSE_ENDS, "a" + " " * size + "b") for size in (100, 200))
    assert large > 3.5 * small


def test_the_patterns_of_a_sentence_see_no_long_text_and_no_run_of_blanks() -> None:
    for text in ("what is the port" + " " * 9_000 + "of staging?", "a" * 9_000, "- " * 9_000):
        for _, said in _sentences(text):
            assert "  " not in said
        read = calls_in(partial(questions_in, text), "_clauses", "_begins")
        assert sum(read.values()) <= 10


def test_a_megabyte_is_split_with_one_look_at_each_sentence() -> None:
    text = "what is the port?\n" * 58_000
    found = calls_in(lambda: list(_sentences(text)), "_sentences", "_re")
    assert found["_re"] <= 58_003
    assert "".join(without_questions("\n" * 1_000_000)).strip() == ""
    assert questions_in(" " * 1_000_000 + "where is it?") == ["where is it?"]


def test_blanks_inside_a_question_do_not_hide_it() -> None:
    text = "what is the port" + " " * 8_000 + "of staging?"
    assert questions_in(text) == ["what is the port of staging?"]
    assert (
        without_questions(f"It is red.  Where?  {text}\nIt is  5433.") == "It is red.\nIt is  5433."
    )


def test_a_long_sentence_is_no_question() -> None:
    text = "where is it, " + "b" * 400 + "?"
    assert questions_in(text) == []
    assert without_questions(text) == text
