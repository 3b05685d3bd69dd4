"""Encoders run as they were trained, by what their own files say; hostile files are refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recollect import Memory
from recollect.embed import recipe
from recollect.embed.onnx import OnnxEmbedder
from recollect.embed.recipe import Pooling, Recipe
from recollect.errors import ConfigError, Unsupported
from tests.embed.graphs import WORDS, encoder, framed, vectors_of

TEXT, QUESTION = "alice sits by the window", "bob stands at the door"
STEPS = [("Transformer", ""), ("Pooling", "1_Pooling"), ("Normalize", "2_Normalize")]
PROMPTS = {"query": "this : ", "passage": ""}


def said(folder: Path, name: str, what: object) -> Path:
    """Writes one file of the model's own; returns the folder."""
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(what))
    return folder


def steps(folder: Path, *kinds: tuple[str, str]) -> Path:
    named = [
        {"idx": n, "name": str(n), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for n, (kind, path) in enumerate(kinds or STEPS)
    ]
    return said(folder, "modules.json", named)


def pooled(folder: Path, **flags: object) -> Path:
    return said(folder, "1_Pooling/config.json", {"word_embedding_dimension": 8, **flags})


def by_hand(text: str, pooling: str, *, most: int = 256) -> Any:
    """The reference: the words' vectors between those of the two marks, pooled, of length one."""
    words = text.replace(":", " : ").split()[: most - 2]
    places = [WORDS.index(word) if word in WORDS else 0 for word in words]
    table = vectors_of(1, 8)[[WORDS.index("[CLS]"), *places, WORDS.index("[SEP]")]]
    rows = table.astype(np.float64)
    row = {"mean": rows.mean(axis=0), "cls": rows[0], "last": rows[-1]}[pooling]
    return row / np.linalg.norm(row)


# The name of the folder, its files, and what is expected: pooling, and what stands before both.
KINDS: dict[str, tuple[str, Callable[[Path], Path], Pooling, str, str]] = {
    "minilm": ("all-MiniLM-L6-v2", lambda f: pooled(steps(f), pooling_mode_mean_tokens=True),
               "mean", "", ""),
    "no files": ("some-model", lambda f: f, "mean", "", ""),
    "e5": ("multilingual-e5-small", lambda f: pooled(steps(f), pooling_mode_mean_tokens=True),
           "mean", "query: ", "passage: "),
    "bge": ("bge-small-en-v1.5", lambda f: pooled(steps(f), pooling_mode_cls_token=True),
            "cls", "Represent this sentence for searching relevant passages: ", ""),
    "arctic": ("downloaded", lambda f: said(pooled(steps(f), pooling_mode_cls_token=True),
               "config_sentence_transformers.json", {"prompts": PROMPTS}),
               "cls", "this : ", ""),
    "gte": ("gte-small", lambda f: pooled(steps(f), pooling_mode_mean_tokens=True), "mean", "", ""),
    "last token": ("qwen", lambda f: pooled(steps(f), pooling_mode_lasttoken=True), "last", "", ""),
    "the newer form": ("new", lambda f: pooled(steps(f), pooling_mode="cls"), "cls", "", ""),
    "one prompt for both": (
        "both", lambda f: said(f, "config_sentence_transformers.json",
                               {"prompts": {"s": "query "}, "default_prompt_name": "s"}),
        "mean", "query ", "query "),
    "a file that says none": (
        "e5-small-v2", lambda f: said(f, "config_sentence_transformers.json",
                                      {"prompts": {"query": "", "document": ""}}), "mean", "", ""),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_is_run_as_it_was_trained(tmp_path: Path, kind: str) -> None:
    name, files, pooling, query, passage = KINDS[kind]
    embedder = OnnxEmbedder(files(framed(encoder(tmp_path / name))))
    expected, asked = by_hand(passage + TEXT, pooling), by_hand(query + QUESTION, pooling)
    assert np.abs(embedder.embed([TEXT])[0] - expected).max() <= 1e-4
    assert np.abs(embedder.embed_query(QUESTION) - asked).max() <= 1e-4
    assert embedder.recipe == Recipe(pooling, query, passage)
    plain = by_hand(QUESTION, pooling)
    if query and pooling == "mean":  # the control: without its prompt a question is another row
        assert np.abs(embedder.embed_query(QUESTION) - plain).max() > 1e-2


def test_scores_are_those_of_the_reference(tmp_path: Path) -> None:
    folder = pooled(framed(encoder(tmp_path / "e5-base")), pooling_mode_mean_tokens=True)
    embedder = OnnxEmbedder(folder)
    texts = [TEXT, QUESTION, "and more words to fill it"]
    found = embedder.embed(texts) @ embedder.embed_query(QUESTION)
    hand = [by_hand(f"passage: {t}", "mean") @ by_hand(f"query: {QUESTION}", "mean") for t in texts]
    assert np.abs(found - np.array(hand)).max() <= 1e-4


def test_the_length_is_the_models(tmp_path: Path) -> None:
    folder = framed(encoder(tmp_path / "short"))
    text = " ".join(["alice"] * 10 + ["door"] * 30)
    whole = OnnxEmbedder(folder).embed([text])[0]
    cut = OnnxEmbedder(said(folder, "sentence_bert_config.json", {"max_seq_length": 16}))
    assert np.abs(whole - by_hand(text, "mean")).max() <= 1e-4
    assert np.abs(cut.embed([text])[0] - by_hand(text, "mean", most=16)).max() <= 1e-4


def test_lower_case_is_the_models(tmp_path: Path) -> None:
    folder = framed(encoder(tmp_path / "low"))
    loud = TEXT.upper()
    assert np.abs(OnnxEmbedder(folder).embed([loud])[0] - by_hand(TEXT, "mean")).max() > 1e-2
    said(folder, "sentence_bert_config.json", {"max_seq_length": 128, "do_lower_case": True})
    assert np.abs(OnnxEmbedder(folder).embed([loud])[0] - by_hand(TEXT, "mean")).max() <= 1e-4


@pytest.mark.parametrize(
    ("told", "most"), [(64, 64), (512, 512), (8_192, 512), (1e30, 512), (None, 256)]
)
def test_a_tokenizers_length_counts_if_no_other_is_there(
    tmp_path: Path, told: float | None, most: int
) -> None:
    said(tmp_path, "tokenizer_config.json", {"model_max_length": told})
    assert recipe.read(tmp_path).tokens == most
    for own, counted in ((99, 99), (10**999, 512)):
        said(tmp_path, "sentence_bert_config.json", {"max_seq_length": own})
        assert recipe.read(tmp_path).tokens == counted


def test_another_recipe_is_another_embedder(tmp_path: Path) -> None:
    """So vectors that were made in one way are never compared with those made in another."""
    folder = framed(encoder(tmp_path / "model"))
    names = [OnnxEmbedder(folder).name]
    names.append(OnnxEmbedder(pooled(folder, pooling_mode_cls_token=True)).name)
    for prompts in ({"query": "query: "}, {"query": "this : "}):
        said(folder, "config_sentence_transformers.json", {"prompts": prompts})
        names.append(OnnxEmbedder(folder).name)
    names.append(
        OnnxEmbedder(said(folder, "sentence_bert_config.json", {"max_seq_length": 32})).name
    )
    tokens = json.loads((folder / "tokenizer.json").read_text())
    said(folder, "tokenizer.json", {**tokens, "normalizer": {"type": "Lowercase"}})
    names.append(OnnxEmbedder(folder).name)
    assert len(set(names)) == len(names)
    assert " mean sentences-60 8" in names[0]
    assert " cls sentences-60 8" in names[1]
    assert all(" cls prompted sentences-60 8" in name for name in names[2:])


def test_old_vectors_are_not_used_with_another_recipe(tmp_path: Path) -> None:
    folder = framed(encoder(tmp_path / "model"))
    with Memory.open(tmp_path / "w", embedder=f"onnx:{folder}") as memory:
        memory.remember("alice sits by the window")
        assert [made.texts for made in memory.admin.embed()] == [1]
        assert [made.texts for made in memory.admin.embed()] == [0]  # the control
    pooled(folder, pooling_mode_lasttoken=True)
    with Memory.open(tmp_path / "w", embedder=f"onnx:{folder}") as memory:
        assert [made.texts for made in memory.admin.embed()] == [1]
    assert len(list((tmp_path / "w").glob("**/*.vec"))) == 2


def test_weights_beside_the_model_are_part_of_its_name(tmp_path: Path) -> None:
    folder = encoder(tmp_path / "model")
    before = OnnxEmbedder(folder).name
    (folder / "model.onnx_data").write_bytes(b"other weights")
    assert OnnxEmbedder(folder).name != before


REFUSED: dict[str, Callable[[Path], Path]] = {
    "pooling": lambda f: pooled(f, pooling_mode_max_tokens=True),
    "two poolings": lambda f: pooled(f, pooling_mode_cls_token=True, pooling_mode_mean_tokens=True),
    "no pooling": lambda f: pooled(f, pooling_mode_mean_tokens=False),
    "a dense layer": lambda f: steps(f, *STEPS, ("Dense", "3_Dense")),
    "code": lambda f: said(f, "modules.json", [{"type": "custom_st.Transformer", "path": ""}]),
    "dot": lambda f: said(f, "config_sentence_transformers.json", {"similarity_fn_name": "dot"}),
    "no tokens": lambda f: said(f, "sentence_bert_config.json", {"max_seq_length": 1}),
    "prompts apart": lambda f: said(pooled(f, pooling_mode_mean_tokens=True, include_prompt=False),
                                    "config_sentence_transformers.json",
                                    {"prompts": {"query": "query"}}),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_run_as_trained_is_refused(tmp_path: Path, kind: str) -> None:
    folder = encoder(tmp_path / "model")
    OnnxEmbedder(folder)  # the control
    with pytest.raises(Unsupported, match="as it was trained"):
        OnnxEmbedder(REFUSED[kind](folder))


def raw(name: str, data: bytes) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)

    return write


def pipe(folder: Path) -> None:
    (folder / "1_Pooling").mkdir()
    os.mkfifo(folder / "1_Pooling" / "config.json")


HOSTILE: dict[str, Callable[[Path], object]] = {
    "a path upwards": lambda f: steps(f, ("Transformer", ""), ("Pooling", "../elsewhere")),
    "a path": lambda f: steps(f, ("Pooling", "/etc")),
    "a number that is none": raw("sentence_bert_config.json", b'{"max_seq_length": NaN}'),
    "a number of another kind": raw("sentence_bert_config.json", b'{"max_seq_length": "9"}'),
    "a giant file": raw("tokenizer_config.json", b"{" + b" " * (5 << 20) + b"}"),
    "nested": raw("modules.json", b"[" * 100_000),
    "many steps": lambda f: steps(f, *[("Normalize", "")] * 99),
    "no list": raw("modules.json", b'{"type": "x"}'),
    "wrong UTF-8": raw("config_sentence_transformers.json", b'{"prompts": {"query": "\xff"}}'),
    "a giant prompt": raw("config_sentence_transformers.json",
                          json.dumps({"prompts": {"query": "x" * 9_999}}).encode()),
    "a prompt that is a list": raw("config_sentence_transformers.json",
                                   b'{"prompts": {"query": ["x"]}}'),
    "a pipe": pipe,
    "a folder": lambda f: (f / "modules.json").mkdir(),
}  # fmt: skip


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_named_and_recall_goes_on(tmp_path: Path, kind: str) -> None:
    folder = encoder(tmp_path / "model")
    HOSTILE[kind](folder)
    with pytest.raises(ConfigError, match="could not be read"):
        OnnxEmbedder(folder)
    with Memory.open(tmp_path / "w", embedder=f"onnx:{folder}") as memory:
        memory.remember("Tea is at four.")
        found = memory.recall("tea")
        assert [hit.text for hit in found] == ["Tea is at four."]
        assert "recall uses full text only" in (found.degraded or "")


def test_a_step_that_names_another_folder_reads_nothing_there(tmp_path: Path) -> None:
    said(tmp_path, "elsewhere/config.json", {"pooling_mode_cls_token": True})
    folder = steps(encoder(tmp_path / "model"), ("Pooling", "../elsewhere"))
    with pytest.raises(ConfigError):
        recipe.read(folder)


def test_a_folder_without_files_has_the_usual_recipe(tmp_path: Path) -> None:
    assert recipe.read(tmp_path) == Recipe()


def test_giant_files_of_the_model_are_refused(tmp_path: Path) -> None:
    folder = encoder(tmp_path / "model")
    os.truncate(folder / "tokenizer.json", 65 << 20)  # sparse: costs nothing
    with pytest.raises(ConfigError, match="tokenizer"):
        OnnxEmbedder(folder)
    os.truncate(folder / "model.onnx", (2 << 30) + 1)
    with pytest.raises(ConfigError, match="too large"):
        OnnxEmbedder(folder)
