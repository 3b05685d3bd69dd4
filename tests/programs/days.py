"""Three days of a developer with two repositories and two laptops, prompt by prompt.

Responsible for what she says and types, what the assistant does then, and what it must know for
it. Leaves driving the program to ``test_days``. It was written before it was run for the first
time; what it found was mended in the product.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tests.programs.protocols import Body

Call = tuple[str, Body]


class Prompt(NamedTuple):
    """What she says to the assistant; what it does, and what it must have been handed for it."""

    says: str
    needs: Sequence[str] = ()  # each of these words, in what was handed over
    stale: Sequence[str] = ()  # none of these: they were true once, or never
    does: Sequence[Call] = ()
    answers: str = "Done."


class Typed(NamedTuple):
    """A command that she types at a terminal."""

    words: Sequence[str]


class Talk(NamedTuple):
    """A talk in a repository, or commands typed there."""

    day: int
    laptop: int
    repository: str
    steps: Sequence[Prompt | Typed]


class Moved(NamedTuple):
    """The memories go to the other laptop, on a stick; both may have grown since the last time."""

    source: int
    target: int
    merged: bool = False


def remember(text: str, key: str, **more: str) -> Call:
    return "remember", {"text": text, "key": key, **more}


def revise(key: str, text: str, **more: str) -> Call:
    return "revise", {"id": key, "text": text, **more}


ASKED_FOR_STAGING: Final = "Which port is the staging database on?"
DEPLOYS: Final = "We deploy on Tuesdays and Thursdays only."

DAYS: Final[Sequence[Talk | Moved]] = [
    Talk(1, 1, "shop", [Typed(["remember", DEPLOYS, "--key", "deploy.days"])]),
    Talk(1, 1, "shop", [
        Prompt(
            "Hi! I am taking over the shop's backend. The staging database is on stg-db-4, port"
            " 5433.",
            does=[remember("The staging database is on stg-db-4, port 5433.", "staging.db")],
        ),
        Prompt("Fix the failing test in tests/test_cart.py."),
        Prompt(
            "By the way, please always answer in short sentences.",
            does=[remember("The user wants short sentences.", "style", memory="personal")],
        ),
    ]),
    Talk(1, 1, "shop", [
        Prompt(ASKED_FOR_STAGING, needs=["5433"], answers="It is 5433."),
        Prompt(
            "Let's cache the product pages. What do you suggest?",
            answers="I suggest Redis for the cache of the product pages.",
        ),
        Prompt(
            "No, not Redis, ops does not run it. We cache product pages in Postgres.",
            does=[
                remember("Product pages are cached in Postgres; ops does not run Redis.", "cache"),
            ],
        ),
    ]),
    Talk(1, 1, "app", [
        Prompt("The minimum iOS version of the app is 16.", answers="Noted."),
        Prompt(
            "The app uses version 2 of the shop's API, at https://api.shop.example.",
            does=[remember("The app uses API version 2 at https://api.shop.example.", "api")],
        ),
        Prompt("Write a unit test for the login screen."),
    ]),
    Talk(2, 1, "shop", [
        Prompt("When can I deploy?", needs=["Tuesdays"]),
        Prompt(
            "The staging database moved, it is on port 5440 now.",
            needs=["5433"],
            does=[
                revise("staging.db", "The staging database is on stg-db-4, port 5440.",
                       quote="it is on port 5440 now"),
            ],
        ),
        Prompt("Which port do I use for staging?", needs=["5440"], stale=["5433"]),
        Prompt("Where do we cache product pages?", needs=["Postgres"], stale=["I suggest Redis"]),
    ]),
    Talk(2, 1, "shop", [
        Prompt(ASKED_FOR_STAGING, needs=["5440"], stale=["5433"], answers="It is 5440."),
        Prompt(
            "Clean up the deploy script.",
            does=[revise("deploy.days", "Deploys happen every day.")],  # nobody said that
            stale=["every day"],
        ),
        Typed(["review", "reject", "--last"]),
        Prompt("When can I deploy?", needs=["Tuesdays"], stale=["every day"]),
    ]),
    Talk(2, 1, "app", [
        Prompt("What is our minimum iOS version?", needs=["16"]),
        Prompt("Which version of the shop's API do we use?", needs=["version 2"]),
        Prompt(
            "Raise the minimum iOS version of the app to 17.",
            needs=["16"],
            does=[remember("The minimum iOS version of the app is 17.", "ios.min",
                           quote="minimum iOS version of the app to 17")],
        ),
        Prompt("Which iOS version is the minimum?", needs=["17"], stale=["is 16"]),
    ]),
    Moved(1, 2),
    Talk(3, 2, "shop", [
        Prompt(ASKED_FOR_STAGING, needs=["5440"], stale=["5433"], answers="It is 5440."),
        Prompt("Do I like long answers?", needs=["short sentences"]),
        Prompt("Can I deploy on a Friday?", needs=["Tuesdays"], stale=["every day"]),
        Prompt("Rename the variable x to count in cart.py.", stale=["5433"]),
        Prompt(
            "We moved again: the staging database is on port 5450 since this morning.",
            needs=["5440"],
            stale=["5433"],
            does=[
                revise("staging.db", "The staging database is on stg-db-4, port 5450.",
                       quote="the staging database is on port 5450"),
            ],
        ),
    ]),
    Talk(3, 2, "app", [
        Prompt("Which iOS version is the minimum?", needs=["17"], stale=["is 16"]),
        Prompt("What is the address of the shop's API?", needs=["api.shop.example"]),
    ]),
    Talk(3, 1, "shop", [
        Typed(["remember", "The on-call phone is in drawer 3.", "--key", "oncall.phone"]),
    ]),
    Moved(2, 1, merged=True),
    Talk(3, 1, "shop", [
        Prompt("On which port is staging?", needs=["5450"], stale=["5433", "5440"]),
        Prompt("Where is the on-call phone?", needs=["drawer 3"]),
        Prompt("Why not Redis?", needs=["ops does not run"], stale=["I suggest Redis"]),
        Prompt("What do you know about me?", needs=["short sentences"]),
        Prompt("Thanks, that is all for today.", stale=["5433", "5440"]),
    ]),
]  # fmt: skip


# Another developer, written after what the days above found was mended.
ANOTHER: Final[Sequence[Talk | Moved]] = [
    Talk(1, 1, "shop", [
        Typed(["remember", "Releases are tagged from main by Ines."]),
        Prompt("Our CI runs on Buildkite, and the queue for GPU jobs is called gpu-small."),
        Prompt(
            "We format Python with Black, line length 88.",
            does=[remember("Python is formatted with Black, line length 88.", "format")],
        ),
        Prompt(
            "Should we move the payment service to gRPC?",
            answers="Yes, gRPC would suit the payment service.",
        ),
        Prompt(
            "We decided: the payment service stays on REST.",
            does=[remember("The payment service stays on REST.", "payment.api",
                           quote="the payment service stays on REST")],
        ),
    ]),
    Talk(1, 1, "app", [
        Prompt("I work from Lisbon, so my mornings are UTC.", does=[
            remember("The user works from Lisbon.", "where", memory="personal")]),
        Prompt("The crash reports go to Sentry, project mobile-7."),
    ]),
    Talk(2, 1, "shop", [
        Prompt("What is the queue for GPU jobs called?", needs=["gpu-small"]),
        Prompt("Does the payment service use gRPC?", needs=["stays on REST"],
               stale=["would suit"]),
        Prompt("We use Ruff for formatting now, with a line length of 100.", needs=["Black"], does=[
            revise("format", "Python is formatted with Ruff, line length 100.",
                   quote="We use Ruff for formatting now")]),
        Prompt("Add type hints to billing.py.", stale=["Black"]),
    ]),
    Talk(2, 1, "shop", [
        Prompt("Which formatter do we use?", needs=["Ruff"], stale=["Black"]),
        Prompt("The GPU queue was renamed to gpu-large.", needs=["gpu-small"]),
    ]),
    Moved(1, 2),
    Talk(3, 2, "shop", [
        Prompt("What line length do we format Python with?", needs=["100"], stale=["88"]),
        Prompt("On which queue do GPU jobs run?", needs=["gpu-large"]),
        Prompt("Who tags the releases?", needs=["Ines"]),
        Prompt("What was the formatter before?", needs=["Black"]),
    ]),
    Talk(3, 2, "app", [
        Prompt("Where do crash reports go?", needs=["mobile-7"]),
        Prompt("Where do I work from?", needs=["Lisbon"]),
    ]),
]  # fmt: skip
