"""People read plain English: messages, hints, log lines, help and public docstrings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tidy import wording

SOURCE = Path(__file__).parents[2] / "src" / "recollect"


def test_strings_that_people_read_are_plain_english() -> None:
    paths = sorted(SOURCE.rglob("*.py"))
    assert len(paths) > 200  # the source is there
    found = [
        complaint
        for path in paths
        for complaint in wording.complaints(
            path.read_text("utf-8"), str(path.relative_to(SOURCE)), docstrings=True
        )
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "whoever opened this may not write",
        "somebody holds the lock",
        "the index is built anew",
        "{word} is no embedder",
        "these are none of ours",
        "include knows no 'x'",
        "the settings file does not read: {error}",
        "the awaited API",
        "the public face",
        "an event says so",
    ],
)
def test_a_banned_word_is_found(text: str) -> None:
    """The control: in a message, an f-string, a hint, a log line, help and a public docstring."""
    for source in (
        f'raise InvalidInput("{text}")',
        f'raise InvalidInput(f"{text}")',
        f'raise InvalidInput("no", hint="{text}")',
        f'log.warning("{text}")',
        f'Option("--name", help="{text}")',
        f'def call() -> None:\n    """Writes: {text}"""',
        f'class Public:\n    def call(self) -> None:\n        """Writes: {text}"""',
    ):
        assert len(wording.complaints(source, "m.py", docstrings=True)) == 1, source


@pytest.mark.parametrize(
    "source",
    [
        'raise NotFound("there is no index")',
        'raise NotFound("the index is no longer there")',
        'raise InvalidInput("is None")',
        'user = "nobody"',
        'def _private() -> None:\n    """Somebody."""',
        "x = 1  # somebody",
    ],
)
def test_natural_english_passes(source: str) -> None:
    assert wording.complaints(source, "m.py", docstrings=True) == []


def test_docstrings_are_checked_on_request() -> None:
    source = 'def call() -> None:\n    """Somebody calls."""'
    assert wording.complaints(source, "m.py", docstrings=False) == []
    assert len(wording.complaints(source, "m.py", docstrings=True)) == 1
