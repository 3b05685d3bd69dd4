"""A plain question gets the same tokens as from the tokenizer, which is not loaded for it."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from recollect.embed import static
from recollect.embed.static import StaticEmbedder, Vocabulary

PRINTABLE = [chr(code) for code in range(0x21, 0x7F)]
WORDS = (
    "which port does the staging server use deploy on Friday node_modules /etc/hosts don't".split()
)


@pytest.fixture(scope="module")
def embedder() -> StaticEmbedder:
    return StaticEmbedder()


@pytest.fixture(scope="module")
def known(embedder: StaticEmbedder) -> Vocabulary:
    found = static.read(embedder._file)
    assert found is not None
    return found


def texts(count: int) -> list[str]:
    rng = random.Random(8)
    made = [" ".join(rng.choices(WORDS, k=rng.randint(1, 12))) for _ in range(count)]
    for _ in range(count):
        words = ("".join(rng.choices(PRINTABLE, k=rng.randint(1, 14))) for _ in range(4))
        made.append(" ".join(words))
    return made


def tokenized(embedder: StaticEmbedder, some: list[str]) -> list[list[int]]:
    return [one.ids for one in embedder._tokens.encode_batch(some, add_special_tokens=False)]


def test_the_ids_are_those_of_the_tokenizer(embedder: StaticEmbedder, known: Vocabulary) -> None:
    some = texts(2_000)
    pairs = zip(map(known.ids_of, some), tokenized(embedder, some), strict=True)
    plain = [(ours, theirs) for ours, theirs in pairs if ours is not None]
    assert len(plain) > 3_000
    assert all(ours == theirs for ours, theirs in plain)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " port",
        "port ",
        "two  blanks",
        "tab\there",
        "line\nbreak",
        "Zürich",
        "<s>",
        "1 < 2",
        "港",
    ],
)
def test_any_other_text_is_left_to_the_tokenizer(text: str, known: Vocabulary) -> None:
    assert known.ids_of(text) is None


def test_a_very_long_word_is_left_to_the_tokenizer(known: Vocabulary) -> None:
    assert known.ids_of("a" * 64) is not None
    assert known.ids_of("a" * 65) is None


def test_a_long_text_is_left_to_the_tokenizer(known: Vocabulary) -> None:
    assert known.ids_of("ab " * 333 + "c") is not None
    assert known.ids_of("ab " * 333 + "cd") is None


@pytest.mark.parametrize("text", ["which port does staging use", "Zürich  ist kalt", "", "<s>"])
def test_a_question_has_the_same_vector_either_way(text: str, embedder: StaticEmbedder) -> None:
    row = StaticEmbedder().embed_query(text)  # has not loaded the tokenizer
    assert np.array_equal(row, embedder.embed([text])[0])


def test_another_file_is_not_trusted(tmp_path: Path, embedder: StaticEmbedder) -> None:
    changed = tmp_path / "tokens.json"
    changed.write_bytes(embedder._file.read_bytes() + b"\n")
    assert static.read(changed) is None


def test_a_plain_question_does_not_load_the_tokenizer() -> None:
    script = (
        "import sys\n"
        "from recollect.embed.static import StaticEmbedder\n"
        "StaticEmbedder().embed_query(sys.argv[1])\n"
        "print('tokenizers' in sys.modules)"
    )

    def loads(question: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", script, question], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    assert loads("which port does staging use") == "False"
    assert loads("Zürich?") == "True"  # the control


def test_control_another_order_of_merges_is_noticed(
    embedder: StaticEmbedder, known: Vocabulary
) -> None:
    backwards = Vocabulary({piece: -id for piece, id in known._ids.items()})
    some = texts(50)
    ours = [[-id for id in backwards.ids_of(text) or ()] for text in some]
    assert ours != tokenized(embedder, some)
