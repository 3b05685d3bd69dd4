"""The embedders, each through the port's sentences, and each beside what it stands for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from recollect import Memory
from recollect.embed.endpoint import EndpointEmbedder
from recollect.embed.onnx import OnnxEmbedder
from recollect.embed.port import Embedder
from recollect.embed.static import StaticEmbedder
from recollect.errors import ConfigError, Unavailable, Unsupported
from tests.embed.graphs import WORDS, encoder, graph, graph_beside
from tests.embed.servers import Server

TEXTS = [
    "Alice sits by the window.",
    "bob stands at the door and more words to fill it",
    "the",
    "Zürich \u5f35 \U0001f600 ... " * 30,
    "x",
]
MINILM = Path(os.environ.get("RECOLLECT_TEST_MINILM", "no folder is named"))


@pytest.fixture(params=["static", "onnx", "endpoint"])
def embedder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Embedder]:
    if request.param == "static":
        yield StaticEmbedder()
    elif request.param == "onnx":
        yield OnnxEmbedder(encoder(tmp_path / "small"))
    else:
        with Server() as server:
            yield EndpointEmbedder(server.url, "small")


def test_rows_have_unit_length(embedder: Embedder) -> None:
    rows = embedder.embed(TEXTS)
    assert rows.shape == (len(TEXTS), embedder.dimensions)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)


def test_a_piece_has_the_same_row_whatever_else_is_encoded_with_it(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    for text, row in zip(TEXTS, together, strict=True):
        assert np.array_equal(embedder.embed([text])[0], row)
        assert np.array_equal(embedder.embed_query(text), row)


def test_no_pieces_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_the_name_says_model_cut_and_dimensions(embedder: Embedder) -> None:
    assert embedder.name.endswith(f" {embedder.dimensions}")
    assert "chunks-90" in embedder.name or "sentences-60" in embedder.name
    assert embedder.recall_max_pieces > 0
    assert embedder.cut("One two three. Four five six.") != []


def test_static_rows_are_those_of_wordllama(tmp_path: Path) -> None:
    """In a process of its own, because importing it sets up logging for everybody."""
    script = (
        "import sys, numpy, wordllama, pathlib\n"
        "here = pathlib.Path(wordllama.__file__).parent\n"
        "model = wordllama.WordLlama.load(cache_dir=here, disable_download=True)\n"
        "texts = sys.argv[2:]\n"
        "numpy.save(sys.argv[1], model.embed(texts, norm=True))\n"
    )
    out = tmp_path / "rows.npy"
    subprocess.run([sys.executable, "-c", script, str(out), *TEXTS], check=True, timeout=60)
    assert np.abs(np.load(out) - StaticEmbedder().embed(TEXTS)).max() <= 1e-5


def test_static_knows_what_is_alike() -> None:
    embedder = StaticEmbedder()
    rows = embedder.embed(["a cat sleeps on the sofa", "the stock market fell sharply"])
    near, far = rows @ embedder.embed_query("kitten on a couch")
    assert near > far + 0.1


def test_static_does_not_import_the_package(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom recollect.embed.static import StaticEmbedder\n"
        "StaticEmbedder().embed(['a'])\n"
        "sys.exit('wordllama' in sys.modules or 'requests' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_another_model_under_the_same_name_is_another_embedder(tmp_path: Path) -> None:
    one, other = (
        OnnxEmbedder(encoder(tmp_path / str(seed) / "model", seed=seed)) for seed in (1, 2)
    )
    assert one.name.partition("-")[0] == other.name.partition("-")[0] == "model"
    assert one.name != other.name


def test_an_encoder_takes_the_mean_over_its_tokens(tmp_path: Path) -> None:
    embedder = OnnxEmbedder(encoder(tmp_path / "small"))
    words = [embedder._row(word) for word in ("alice", "sits", "by")]
    assert np.allclose(embedder._row("alice sits by"), np.mean(words, axis=0), atol=1e-6)


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_without_its_files_is_named(tmp_path: Path, missing: str) -> None:
    folder = encoder(tmp_path / "small")
    (folder / missing).unlink()
    with pytest.raises(ConfigError, match=missing.removeprefix("model")):
        OnnxEmbedder(folder)


@pytest.mark.parametrize("broken", ["model.onnx", "tokenizer.json"])
def test_a_folder_with_a_broken_file_is_named(tmp_path: Path, broken: str) -> None:
    folder = encoder(tmp_path / "small")
    (folder / broken).write_bytes(b"no such thing")
    with pytest.raises(ConfigError, match=broken):
        OnnxEmbedder(folder)


def test_a_model_that_takes_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="pixels"):
        OnnxEmbedder(encoder(tmp_path / "small", given="pixels"))


def test_no_model_gives_a_vector_that_cannot_be_compared(tmp_path: Path) -> None:
    """One word is enough: what asks for it is told, and all else goes on."""
    for name, bad in (("nan", np.nan), ("inf", np.inf), ("huge", 3e38)):
        vectors = np.ones((len(WORDS), 8), np.float32)
        vectors[WORDS.index("bob")] = bad
        folder = encoder(tmp_path / name)
        (folder / "model.onnx").write_bytes(graph(vectors, "input_ids"))
        embedder = OnnxEmbedder(folder)
        for call in (embedder.embed_query, lambda text: embedder.embed([text])):  # noqa: B023
            with pytest.raises(Unavailable, match="not a number"):
                call("bob stands")
        assert np.isfinite(embedder.embed(["alice sits"])).all()  # the control


@pytest.mark.parametrize("width", [0, 16_385])
def test_no_model_chooses_any_number_of_dimensions(tmp_path: Path, width: int) -> None:
    with pytest.raises(Unavailable, match="form"):
        OnnxEmbedder(encoder(tmp_path / "wide", width=width))


def test_a_model_whose_dimensions_change_is_refused(tmp_path: Path) -> None:
    """The second output is as long as the text."""
    embedder = OnnxEmbedder(encoder(tmp_path / "small"))
    embedder._run = lambda piece: np.ones(len(piece), np.float32)  # type: ignore[method-assign]
    assert embedder.embed_query("x" * 8).shape == (8,)
    with pytest.raises(Unavailable, match="9 dimensions"):
        embedder.embed_query("x" * 9)


def strange_tokens(folder: Path, **fields: object) -> Path:
    """The folder, with other fields in its tokenizer.json."""
    path = folder / "tokenizer.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))
    return folder


def split_by(pattern: str) -> dict[str, object]:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"pre_tokenizer": split_by("(a+)+$")}, "a" * 40 + "b"),  # a panic in the library
        ({"model": {"type": "WordLevel", "vocab": {"dimensions": 1}, "unk_token": "no"}}, "alice"),
        (
            {"model": {"type": "WordLevel", "vocab": {"dimensions": 1, "x": 4_000_000_000},
                       "unk_token": "x"}}, "alice",
        ),
    ],
)  # fmt: skip
def test_recall_goes_on_without_an_encoder_that_breaks(
    tmp_path: Path, fields: dict[str, object], text: str
) -> None:
    folder = strange_tokens(encoder(tmp_path / "small"), **fields)
    with pytest.raises(Unavailable, match="the sentence encoder failed"):
        OnnxEmbedder(folder).embed_query(text)
    with Memory.open(tmp_path / "w", embedder=f"onnx:{folder}") as memory:
        memory.remember("Tea is at four.")
        found = memory.recall(f"tea {text}")
        assert [hit.text for hit in found] == ["Tea is at four."]
        assert "recall works without" in (found.degraded or "")


@pytest.mark.parametrize("how", ["a path upwards", "a path", "a link", "a pipe"])
def test_a_model_reads_no_file_outside_its_folder(tmp_path: Path, how: str) -> None:
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.ones((len(WORDS), 8), "<f4").tobytes())
    folder = encoder(tmp_path / "small")
    place = {"a path upwards": "../secret.bin", "a path": str(secret)}.get(how, "inside.bin")
    (folder / "model.onnx").write_bytes(graph_beside(place, len(WORDS), 8))
    if how == "a link":
        (folder / "inside.bin").symlink_to(secret)
    if how == "a pipe":
        os.mkfifo(folder / "inside.bin")
    with pytest.raises(ConfigError):
        OnnxEmbedder(folder)


def test_control_a_model_reads_a_file_of_its_folder(tmp_path: Path) -> None:
    folder = encoder(tmp_path / "small")
    (folder / "inside.bin").write_bytes(np.ones((len(WORDS), 8), "<f4").tobytes())
    (folder / "model.onnx").write_bytes(graph_beside("inside.bin", len(WORDS), 8))
    assert OnnxEmbedder(folder).dimensions == 8


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_a_pipe_is_no_model(tmp_path: Path, name: str) -> None:
    folder = encoder(tmp_path / "small")
    (folder / name).unlink()
    os.mkfifo(folder / name)
    with pytest.raises(ConfigError):
        OnnxEmbedder(folder)


def test_a_pickle_is_not_loaded(tmp_path: Path) -> None:
    folder, sign = encoder(tmp_path / "small"), tmp_path / "ran"
    (folder / "model.onnx").write_bytes(b"cos\nsystem\n(S'touch %s'\ntR." % bytes(sign))
    with pytest.raises(ConfigError):
        OnnxEmbedder(folder)
    assert not sign.exists()


@pytest.mark.skipif(not MINILM.is_dir(), reason="RECOLLECT_TEST_MINILM names no folder")
def test_minilm_knows_what_is_alike() -> None:
    embedder = OnnxEmbedder(MINILM)
    assert embedder.dimensions == 384
    texts = ["She moved to a desk by the window.", "The invoice was paid in March."]
    near, far = embedder.embed(texts) @ embedder.embed_query("where does she sit?")
    assert near > far + 0.1
    alone = embedder.embed(texts[:1])[0]
    assert np.array_equal(alone, embedder.embed(texts)[0])
